package images

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func files(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if out[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}

func program(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app")
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestArchive(t *testing.T) {
	image := Image{Name: "registry.example.com/app:1", Binary: program(t, "\x7fELF program"), Path: "/usr/bin/app", User: "1:1", Args: []string{"serve"}}
	var out, again bytes.Buffer
	if err := image.Write(&out); err != nil {
		t.Fatal(err)
	}
	if err := image.Write(&again); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("the same program gives another image (%v)", err)
	}
	outer := files(t, out.Bytes())
	var list []manifest
	if err := json.Unmarshal(outer["manifest.json"], &list); err != nil || len(list) != 1 || list[0].RepoTags[0] != image.Name {
		t.Fatalf("manifest.json %s, %v", outer["manifest.json"], err)
	}
	var c config
	if err := json.Unmarshal(outer[list[0].Config], &c); err != nil || c.Config.Entrypoint[0] != image.Path || c.Config.User != "1:1" || c.Config.Cmd[0] != "serve" {
		t.Errorf("configuration %s, %v", outer[list[0].Config], err)
	}
	layer := outer[list[0].Layers[0]]
	if c.RootFS.DiffIDs[0] != "sha256:"+sum(layer) {
		t.Errorf("digest %s of the layer, it is %s", c.RootFS.DiffIDs[0], sum(layer))
	}
	inner := files(t, layer)
	if string(inner["usr/bin/app"]) != "\x7fELF program" {
		t.Errorf("the program is not in the layer: %v", inner)
	}
	for _, folder := range []string{"tmp/", "usr/", "usr/bin/"} {
		if _, ok := inner[folder]; !ok {
			t.Errorf("no folder %s", folder)
		}
	}
}

func TestWhatIsNoImage(t *testing.T) {
	good := program(t, "\x7fELF")
	for say, image := range map[string]Image{
		"reference with a tag": {Name: "app", Binary: good, Path: "/app"},
		"starts with /":        {Name: "app:1", Binary: good, Path: "app"},
		"no program for Linux": {Name: "app:1", Binary: program(t, "#!/bin/sh"), Path: "/app"},
		"no such file":         {Name: "app:1", Binary: good + "-gone", Path: "/app"},
	} {
		if err := image.Write(io.Discard); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("error %v, want one with %q", err, say)
		}
	}
}
