package guard

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// maxMessage is how many bytes of a termination message a kubelet keeps. It keeps the last ones, and the first ones matter
// here (kubernetes/kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go).
const maxMessage = 4096

// leaveMessage writes the text where the kubelet takes it up into the pod's status. The kubelet makes the file; where there is
// none the process is in no pod, and none is made.
func leaveMessage(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(text) > maxMessage {
		// A character that is cut in two would not be UTF-8.
		text = strings.ToValidUTF8(text[:maxMessage], "")
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
