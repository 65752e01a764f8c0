package render

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// settingsKeys are the keys by which a document without a kind is known to be settings.
var settingsKeys = func() []string {
	var keys []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[settings.Settings]()) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	return keys
}()

// driver is a profile of the user's own and where it stands.
type driver struct {
	profile.Driver
	where where
	path  string
}

// readSettings takes drivers and templates from settings and keeps the whole to be checked when everything was read. Entries
// are read one by one, so that one that is wrong does not hide what is wrong with the next.
func (in *input) readSettings(w where, path string, helm bool, data []byte) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		in.typeError(w, path, err)
		return
	}
	for i, data := range in.list(w, under(path, "customDrivers"), all["customDrivers"]) {
		in.readDriver(w, fmt.Sprintf("%s[%d]", under(path, "customDrivers"), i), data)
	}
	for i, data := range in.list(w, under(path, "claimTemplates"), all["claimTemplates"]) {
		at := fmt.Sprintf("%s[%d]", under(path, "claimTemplates"), i)
		var c settings.ClaimTemplate
		if !in.decode(w, at, "", data, &c) {
			continue
		}
		t := template{where: w, specPath: at}
		t.Name, t.Spec = c.Name, c.GPUClaimTemplateSpec
		in.add(t, at+".name")
	}
	in.settings = append(in.settings, document{where: w, path: path, helm: helm, keys: all})
}

func (in *input) readDriver(w where, at string, data []byte) {
	d := driver{where: w, path: at}
	ok := in.decode(w, at, "", data, &d.Driver)
	if ok {
		if err := d.Validate(); err != nil {
			in.fail(w, "%s: %s", at, strings.ReplaceAll(err.Error(), "\n", "; "))
			ok = false
		}
	}
	if !ok {
		in.brokenDrivers = append(in.brokenDrivers, d.Name)
		return
	}
	in.drivers = append(in.drivers, d)
}

func (in *input) list(w where, path string, data json.RawMessage) []json.RawMessage {
	if data == nil {
		return nil
	}
	var out []json.RawMessage
	if err := json.Unmarshal(data, &out); err != nil {
		in.typeError(w, path, err)
	}
	return out
}

// profiles returns the built-in drivers and those of all settings read. One that describes a DRA driver which another one
// describes already is left out and reported.
func (in *input) profiles() *profile.Set {
	builtin, err := profile.Builtin()
	if err != nil {
		in.fail(where{}, "%w", err)
	}
	good := append([]profile.Driver{}, builtin...)
	set, err := profile.NewSet(good...)
	if err != nil {
		in.fail(where{}, "%w", err)
		return &profile.Set{}
	}
	for _, d := range in.drivers {
		next, err := profile.NewSet(append(good[:len(good):len(good)], d.Driver)...)
		if err != nil {
			in.fail(d.where, "%s.driverName: %w", d.path, err)
			in.brokenDrivers = append(in.brokenDrivers, d.Name)
			continue
		}
		good, set = append(good, d.Driver), next
	}
	return set
}
