package claimstate

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPending(t *testing.T) {
	supply := Supply{
		Classes: map[string]bool{"free": true, "full": true, "bare": true, "net": true},
		Drivers: map[string]string{"free": "a", "full": "b", "bare": "c", "gone": "a"},
		Usable:  map[string]int{"a": 8, "b": 8}, Free: map[string]int{"a": 1},
	}
	for name, tc := range map[string]struct {
		options []option
		want    Reason
	}{
		"devices are free":                        {[]option{asks("free"), owned()}, NotScheduled},
		"all are held":                            {[]option{asks("full"), owned()}, AllAllocated},
		"none is published":                       {[]option{asks("bare"), owned()}, NotPublished},
		"no such class, though its driver is":     {[]option{asks("gone"), owned()}, ClassMissing},
		"a class nobody heard of":                 {[]option{asks("gpu.nvida.com"), owned()}, ClassMissing},
		"the first that is there":                 {[]option{asks("gone", "bare", "full"), owned()}, AllAllocated},
		"whichever is free":                       {[]option{asks("full", "free"), owned()}, NotScheduled},
		"every request has to be served":          {[]option{asks("free"), asks("bare"), owned()}, NotPublished},
		"a device of somebody else too":           {[]option{asks("net"), asks("full"), owned()}, AllAllocated},
		"a device of somebody else, or of ours":   {[]option{asks("net", "full"), owned()}, AllAllocated},
		"a device of somebody else":               {[]option{asks("net"), owned()}, ""},
		"who only looks on waits for nothing":     {[]option{looksOn("bare"), owned()}, ""},
		"nothing":                                 {[]option{owned()}, ""},
		"nobody's":                                {[]option{asks("free")}, Unowned},
		"nobody's, while all are held":            {[]option{asks("full")}, Unowned},
		"nobody's, that can't be served yet":      {[]option{asks("bare")}, Unowned},
		"nobody's, of a class nobody heard of":    {[]option{asks("gone")}, ClassMissing},
		"of an owner that runs no containers":     {[]option{asks("bare"), ownedBy("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")}, Unowned},
		"of another's kind of this name":          {[]option{asks("free"), ownedBy("acme.example/v1", "Pod")}, Unowned},
		"of a pod among others":                   {[]option{asks("free"), ownedBy("batch/v1", "Job"), owned()}, NotScheduled},
		"has its devices":                         {[]option{asks("free"), holds("p", "d"), owned()}, ""},
		"has an allocation of admin access alone": {[]option{looksOn("free"), holds("p", "d"), admin(), owned()}, ""},
		"on its way out":                          {[]option{asks("free"), owned(), deleted()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Condense(claim(tc.options...)).Pending(supply)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.want != "", ok)
		})
	}
}

// More devices never make a reason graver, and one more way to serve a request neither.
func TestPendingIsOrdered(t *testing.T) {
	classes := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		s := Supply{Classes: map[string]bool{}, Drivers: map[string]string{"a": "x", "b": "y", "c": "y"}, Usable: map[string]int{}, Free: map[string]int{}}
		for _, class := range classes {
			s.Classes[class] = rapid.Bool().Draw(t, class)
		}
		for _, d := range []string{"x", "y"} {
			s.Usable[d] = rapid.IntRange(0, 1).Draw(t, "usable")
			s.Free[d] = rapid.IntRange(0, s.Usable[d]).Draw(t, "free")
		}
		ways := rapid.SliceOfN(rapid.SampledFrom(classes), 2, 3).Draw(t, "ways")
		before, waits := Condense(claim(asks(ways...), owned())).Pending(s)
		more, _ := Condense(claim(asks(append(ways, rapid.SampledFrom(classes).Draw(t, "one more"))...), owned())).Pending(s)
		if waits && rank(more) < rank(before) {
			t.Fatalf("%s became %s", before, more)
		}
		s.Usable["y"], s.Free["y"] = 1, 1
		if after, ok := Condense(claim(asks(ways...), owned())).Pending(s); ok && rank(after) < rank(before) {
			t.Fatalf("%s became %s", before, after)
		}
	})
}
