package filelock

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "lock")
	var inside, most int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			lock, err := Acquire(t.Context(), path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			time.Sleep(5 * time.Millisecond)
			mu.Lock()
			inside--
			mu.Unlock()
			lock.Release()
		}()
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d holders at once, want 1", most)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the lock file is still there: %v", err)
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := Acquire(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	told := 0
	if _, err := Acquire(ctx, path, func() { told++ }); err == nil {
		t.Fatal("a held lock was given out")
	}
	if told != 1 {
		t.Errorf("told %d times that it waits, want once", told)
	}
}

// The last holder may remove the folder as well, as `cluster down` does.
func TestFolderThatComesAndGoes(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "clusters")
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				lock, err := Acquire(t.Context(), filepath.Join(folder, "lock"), nil)
				if err != nil {
					t.Error(err)
					return
				}
				lock.Release()
				os.Remove(folder)
			}
		}()
	}
	wg.Wait()
}
