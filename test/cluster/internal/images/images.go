// Package images packs static programs into container images and gives them to a containerd, without a registry and without a
// container engine.
package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strings"
)

// Image is one image with one program in it.
type Image struct {
	// Name is the full reference, such as registry.example.com/team/app:1.
	Name string
	// Binary is the static program on this machine, Path where it is in the image.
	Binary string
	Path   string
	// User is who it runs as unless the Pod says so, such as "64535:64535"; "" is root.
	User string
	// Args come after the program unless the Pod gives its own.
	Args []string
}

// config is what the image format calls the image's configuration (OCI image specification, config.md).
type config struct {
	Architecture string  `json:"architecture"`
	OS           string  `json:"os"`
	Config       process `json:"config"`
	RootFS       rootFS  `json:"rootfs"`
}

type process struct {
	User       string   `json:"User,omitempty"`
	Env        []string `json:"Env"`
	Entrypoint []string `json:"Entrypoint"`
	Cmd        []string `json:"Cmd,omitempty"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// manifest is an entry of manifest.json in an archive as `docker save` writes it.
type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// Write writes the image as an archive that container runtimes import.
func (i Image) Write(out io.Writer) error {
	if !strings.Contains(path.Base(i.Name), ":") {
		return fmt.Errorf("image %q: expected a full reference with a tag, such as registry.example.com/team/app:1", i.Name)
	}
	if !path.IsAbs(i.Path) {
		return fmt.Errorf("image %s: path %q of its program: expected one that starts with /", i.Name, i.Path)
	}
	layer, err := i.layer()
	if err != nil {
		return err
	}
	digest := sum(layer)
	configuration, err := json.Marshal(config{Architecture: runtime.GOARCH, OS: "linux",
		Config: process{User: i.User, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Entrypoint: []string{i.Path}, Cmd: i.Args},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{"sha256:" + digest}}})
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Name, err)
	}
	names := manifest{Config: sum(configuration) + ".json", RepoTags: []string{i.Name}, Layers: []string{digest + "/layer.tar"}}
	list, err := json.Marshal([]manifest{names})
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Name, err)
	}
	archive := tar.NewWriter(out)
	for _, file := range []struct {
		name    string
		content []byte
	}{{names.Layers[0], layer}, {names.Config, configuration}, {"manifest.json", list}} {
		if err := add(archive, file.name, 0o644, file.content); err != nil {
			return fmt.Errorf("image %s: %w", i.Name, err)
		}
	}
	return archive.Close()
}

// layer holds the program, the folders above it and /tmp. Times are left out: the same program gives the same image.
func (i Image) layer() ([]byte, error) {
	program, err := os.ReadFile(i.Binary)
	if err != nil {
		return nil, fmt.Errorf("image %s: its program: %w", i.Name, err)
	}
	if !bytes.HasPrefix(program, []byte("\x7fELF")) {
		return nil, fmt.Errorf("image %s: %s is no program for Linux, expected a static one (CGO_ENABLED=0 go build)", i.Name, i.Binary)
	}
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	folders := []string{"tmp"}
	for at, c := range i.Path {
		if c == '/' && at > 0 {
			folders = append(folders, i.Path[1:at])
		}
	}
	for _, folder := range folders {
		mode := int64(0o755)
		if folder == "tmp" {
			mode = 0o1777
		}
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: mode}); err != nil {
			return nil, fmt.Errorf("image %s: %w", i.Name, err)
		}
	}
	if err := add(archive, i.Path[1:], 0o755, program); err != nil {
		return nil, fmt.Errorf("image %s: %w", i.Name, err)
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("image %s: %w", i.Name, err)
	}
	return out.Bytes(), nil
}

func add(archive *tar.Writer, name string, mode int64, content []byte) error {
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}
