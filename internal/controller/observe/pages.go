package observe

import (
	"context"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// pageSize keeps one page of slices of 128 devices, some 46 KB each, below 10 MB.
const pageSize = 200

// page is one page of a list, condensed.
type page struct {
	metav1.ListMeta
	items []runtime.Object
}

// condensed is a page of what is kept of each object.
func condensed[T any, K runtime.Object](meta metav1.ListMeta, objects []T, keep func(*T) K) page {
	out := page{ListMeta: meta, items: make([]runtime.Object, len(objects))}
	for i := range objects {
		out.items[i] = keep(&objects[i])
	}
	return out
}

// pages lists in pages, each condensed before the next is asked for. A reflector's own list would hold every object of the
// cluster whole: it asks at resourceVersion 0, where the API server ignores limits, and condenses at the end.
func pages(list func(context.Context, metav1.ListOptions) (page, error)) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		if opts.ResourceVersion == "0" {
			opts.ResourceVersion = ""
		}
		opts.Limit = pageSize
		out := &metainternal.List{}
		for {
			next, err := list(ctx, opts)
			if err != nil {
				// Among them: the list expired between pages. The reflector starts again.
				return nil, err
			}
			out.Items = append(out.Items, next.items...)
			out.ResourceVersion = next.ResourceVersion
			if next.Continue == "" {
				return out, nil
			}
			// A list that goes on is bound to its token; a resourceVersion beside it is refused.
			opts.Continue, opts.ResourceVersion, opts.ResourceVersionMatch = next.Continue, "", ""
		}
	}
}
