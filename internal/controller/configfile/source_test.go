package configfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func parseWord(data []byte) (*string, error) {
	word := strings.TrimSpace(string(data))
	if word == "bad" {
		return nil, errors.New("a bad word")
	}
	return &word, nil
}

// mount writes a file as the kubelet mounts a ConfigMap: config.yaml → ..data/config.yaml, ..data → a folder that is
// swapped as a whole.
func mount(t *testing.T, dir, folder, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, folder, "config.yaml"), []byte(content), 0o644))
	require.NoError(t, os.Symlink(folder, filepath.Join(dir, "..data_tmp")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	if _, err := os.Lstat(filepath.Join(dir, "config.yaml")); err != nil {
		require.NoError(t, os.Symlink("..data/config.yaml", filepath.Join(dir, "config.yaml")))
	}
}

func TestReadKeepsWhatWorked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	s := New(path, parseWord)

	s.Read()
	state, changed := s.State()
	require.Nil(t, state.Good)
	require.ErrorIs(t, state.Err, os.ErrNotExist)

	require.NoError(t, os.WriteFile(path, []byte("one"), 0o644))
	s.Read()
	require.True(t, closed(changed))
	state, changed = s.State()
	require.Equal(t, "one", *state.Good)
	require.NoError(t, state.Err)
	first := state.Good

	s.Read()
	require.False(t, closed(changed), "the same content is no change")
	require.NoError(t, os.WriteFile(path, []byte("one\n"), 0o644))
	s.Read()
	require.False(t, closed(changed), "nor is the same meaning in other words")

	require.NoError(t, os.WriteFile(path, []byte("bad"), 0o644))
	s.Read()
	require.True(t, closed(changed))
	state, changed = s.State()
	require.Same(t, first, state.Good, "the last good content stays in force")
	require.ErrorContains(t, state.Err, "config.yaml: a bad word")

	s.Read()
	require.False(t, closed(changed), "the same error is no change")

	require.NoError(t, os.WriteFile(path, []byte("one"), 0o644))
	s.Read()
	state, _ = s.State()
	require.True(t, closed(changed))
	require.NoError(t, state.Err)
	require.Same(t, first, state.Good, "back to what was in force is no new content")

	require.NoError(t, os.Remove(path))
	s.Read()
	state, _ = s.State()
	require.Same(t, first, state.Good)
	require.Error(t, state.Err)
}

func TestStartSeesASwappedMount(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, "..1", "one")
	s := New(filepath.Join(dir, "config.yaml"), parseWord)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Start(ctx) }()

	wait := func(word string) {
		t.Helper()
		require.Eventually(t, func() bool {
			state, _ := s.State()
			return state.Good != nil && *state.Good == word && state.Err == nil
		}, rereadEvery/2, 10*time.Millisecond, "seen by a notice, well before the file is read again anyway")
	}
	wait("one")
	for _, word := range []string{"two", "three"} {
		mount(t, dir, "..folder-"+word, word)
		wait(word)
	}
	cancel()
	require.NoError(t, <-done)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
