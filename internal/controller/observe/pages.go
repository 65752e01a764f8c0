package observe

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gpu-dra/gpu-dra/internal/inventory"
)

// pageSize keeps one page of slices of 128 devices, some 46 KB each, below 10 MB.
const pageSize = 200

// pages lists in pages and condenses each page before it asks for the next. A reflector's own list would hold every slice of
// the cluster whole: it asks at resourceVersion 0, where the API server ignores limits, and condenses at the end.
func pages(
	list func(context.Context, metav1.ListOptions) (*resourcev1.ResourceSliceList, error),
	digest func(*resourcev1.ResourceSlice) *inventory.Slice,
) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		if opts.ResourceVersion == "0" {
			opts.ResourceVersion = ""
		}
		opts.Limit = pageSize
		out := &metainternal.List{}
		for {
			page, err := list(ctx, opts)
			if err != nil {
				// Among them: the list expired between pages. The reflector starts again.
				return nil, err
			}
			for i := range page.Items {
				out.Items = append(out.Items, digest(&page.Items[i]))
			}
			out.ResourceVersion = page.ResourceVersion
			if page.Continue == "" {
				return out, nil
			}
			// A list that goes on is bound to its token; a resourceVersion beside it is refused.
			opts.Continue, opts.ResourceVersion, opts.ResourceVersionMatch = page.Continue, "", ""
		}
	}
}
