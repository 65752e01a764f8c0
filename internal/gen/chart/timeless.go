package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"time"
)

// packed is the time of every file in a package: the earliest that archivers of all systems can write.
var packed = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// timeless gives every file of a package the same time. Helm writes the time of packing, so that two packages of one tree would
// differ, and nobody could check that a published one was made from it.
func timeless(archive []byte) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	// Helm marks its packages here.
	zipped.Comment, zipped.Extra = unzipped.Comment, unzipped.Extra
	from, to := tar.NewReader(unzipped), tar.NewWriter(zipped)
	for {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		header.ModTime = packed
		if err := to.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := io.Copy(to, from); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(to.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
