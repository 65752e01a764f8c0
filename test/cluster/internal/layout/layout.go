// Package layout says where everything of a test cluster lies on disk.
package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

const (
	cacheVariable    = "GPU_DRA_CACHE_DIR"
	clustersVariable = "GPU_DRA_CLUSTERS_DIR"
)

// Cache is the folder of everything built: $GPU_DRA_CACHE_DIR or the user's cache folder.
func Cache() (string, error) {
	if dir := os.Getenv(cacheVariable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the user's cache folder is unknown: %w; set %s", err, cacheVariable)
	}
	return filepath.Join(dir, "gpu-dra"), nil
}

// Clusters is the folder with one folder for each cluster: $GPU_DRA_CLUSTERS_DIR or
// "clusters" in the cache.
func Clusters() (string, error) {
	if dir := os.Getenv(clustersVariable); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "clusters"), nil
}

var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// Dir is the state folder of one cluster.
type Dir string

// ForCluster returns the folder of a cluster by name.
func ForCluster(clusters, name string) (Dir, error) {
	if !nameForm.MatchString(name) {
		return "", fmt.Errorf("cluster name %q: expected at most 40 small letters, digits and dashes", name)
	}
	return Dir(filepath.Join(clusters, name)), nil
}

// State is the file that records the cluster.
func (d Dir) State() string { return d.at("cluster.json") }

// RemoveRecord removes the record and the folder, which must hold nothing else: a folder
// without a record may be anybody's. A folder that is not there is no error.
func (d Dir) RemoveRecord() error {
	for _, path := range []string{d.State(), d.StatePartial(), string(d)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s cannot be removed, look what it is and remove it by hand: %w", path, err)
		}
	}
	return nil
}

// StatePartial is a record that is being written.
func (d Dir) StatePartial() string { return d.State() + ".partial" }

// Lock is held by a command that changes the cluster; it lies beside the folder, since
// `down` removes the folder while it holds the lock.
func (d Dir) Lock() string { return string(d) + ".lock" }

// PKI is the folder of certificates and keys.
func (d Dir) PKI() string { return d.at("pki") }

// Cert is the certificate of a name of the package pki.
func (d Dir) Cert(name string) string { return filepath.Join(d.PKI(), name+".crt") }

// Key is its private key.
func (d Dir) Key(name string) string { return filepath.Join(d.PKI(), name+".key") }

// Public is a bare public key.
func (d Dir) Public(name string) string { return filepath.Join(d.PKI(), name+".pub") }

// Kubeconfig is the kubeconfig of an identity of the package pki.
func (d Dir) Kubeconfig(identity string) string { return d.at(identity + ".kubeconfig") }

// Log is a component's log; it grows over restarts.
func (d Dir) Log(component string) string { return filepath.Join(string(d), "logs", component+".log") }

// Data is a component's working folder.
func (d Dir) Data(component string) string { return d.at(component) }

func (d Dir) at(name string) string { return filepath.Join(string(d), name) }
