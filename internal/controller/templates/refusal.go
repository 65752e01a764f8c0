package templates

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gpu-dra/gpu-dra/internal/platform"
)

// refusal is what the API server said of an object, field by field where it did so. Its whole message would name the object,
// which in a dry-run has another name each time, and a status that tells it would change without end.
func refusal(err error) string {
	var status apierrors.APIStatus
	if apierrors.IsInvalid(err) && errors.As(err, &status) {
		if d := status.Status().Details; d != nil && len(d.Causes) > 0 {
			var lines []string
			for _, c := range d.Causes {
				lines = append(lines, strings.TrimPrefix(c.Field+": ", ": ")+c.Message)
			}
			return strings.Join(lines, "; ")
		}
	}
	return platform.Reason(err)
}
