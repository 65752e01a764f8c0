//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// The two calls that a kubelet makes to a driver, without the libraries of kubelets: a gRPC call is a POST of HTTP/2, and the
// messages have a few fields.
const (
	methodPrepare = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"
	methodHealth  = "/grpc.health.v1.Health/Check"
)

// call makes a unary gRPC call without TLS and returns the answer.
func call(t *testing.T, network, address, method string, request []byte) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	defer transport.CloseIdleConnections()
	frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request))), request...)
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+method, bytes.NewReader(frame))
	require.NoError(t, err)
	post.Header.Set("Content-Type", "application/grpc")
	post.Header.Set("TE", "trailers")
	answer, err := transport.RoundTrip(post)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	status, message := answer.Trailer.Get("Grpc-Status"), answer.Trailer.Get("Grpc-Message")
	if status == "" { // An error without an answer is told in the header.
		status, message = answer.Header.Get("Grpc-Status"), answer.Header.Get("Grpc-Message")
	}
	require.Equal(t, "0", status, "%s: %s", method, message)
	require.GreaterOrEqual(t, len(body), 5)
	return body[5:]
}

// fields are a message's fields by number: texts and messages as they are, numbers as varints.
func fields(t *testing.T, message []byte) map[protowire.Number][][]byte {
	t.Helper()
	out := map[protowire.Number][][]byte{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		require.NoError(t, protowire.ParseError(n))
		message = message[n:]
		n = protowire.ConsumeFieldValue(number, kind, message)
		require.NoError(t, protowire.ParseError(n))
		value := message[:n]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(message)
		}
		out[number] = append(out[number], value)
		message = message[n:]
	}
	return out
}

// field encodes one text or message.
func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

// prepare asks a driver to prepare a claim, as the kubelet does before a pod starts, and returns device and CDI ids.
func prepare(t *testing.T, socket, namespace, name, uid string) (device string, cdi []string) {
	t.Helper()
	claim := append(append(field(1, []byte(namespace)), field(2, []byte(uid))...), field(3, []byte(name))...)
	entries := fields(t, call(t, "unix", socket, methodPrepare, field(1, claim)))[1]
	require.Len(t, entries, 1)
	entry := fields(t, entries[0])
	require.Equal(t, uid, string(entry[1][0]))
	prepared := fields(t, entry[2][0])
	require.Empty(t, prepared[2], "the driver says what is wrong")
	require.Len(t, prepared[1], 1)
	found := fields(t, prepared[1][0])
	for _, id := range found[4] {
		cdi = append(cdi, string(id))
	}
	return string(found[3][0]), cdi
}

// serving asks a driver's health service as the probes of its pod do.
func serving(t *testing.T, address string) bool {
	t.Helper()
	status := fields(t, call(t, "tcp", address, methodHealth, field(1, []byte("liveness"))))[1]
	return len(status) == 1 && bytes.Equal(status[0], []byte{1})
}
