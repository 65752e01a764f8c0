// Package certificate decides when the certificate of a webhook is renewed, and makes it, so that whoever calls always trusts
// what is served: the new authority is made known before the first certificate of it is served, and the old one is forgotten
// after the last.
package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// Pair is a certificate with its key, and the authority that signed it, all as PEM. The key of the authority is thrown away
// once it has signed: nobody can make another certificate that is trusted here.
type Pair struct{ CA, Cert, Key []byte }

const (
	// lifetime of a pair.
	lifetime = 90 * 24 * time.Hour
	// skew of clocks that a new pair puts up with.
	skew = time.Hour
)

// New makes a pair for the names of a server.
func New(now time.Time, names []string) (Pair, error) {
	if len(names) == 0 {
		return Pair{}, fmt.Errorf("certificate: found no name, expected the DNS names of the server")
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	ca, err := template(now, names[0]+" CA")
	if err != nil {
		return Pair{}, err
	}
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return Pair{}, err
	}
	// Its key identifier is what the other certificate refers to.
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return Pair{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	leaf, err := template(now, names[0])
	if err != nil {
		return Pair{}, err
	}
	leaf.DNSNames, leaf.KeyUsage, leaf.ExtKeyUsage = names, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return Pair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{CA: encode("CERTIFICATE", caDER), Cert: encode("CERTIFICATE", der), Key: encode("PRIVATE KEY", keyDER)}, nil
}

func template(now time.Time, name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-skew), NotAfter: now.Add(lifetime),
	}, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// TLS returns the pair for a server.
func (p Pair) TLS() (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &c, nil
}

// Check returns the certificate when the pair can serve names at a time and its authority vouches for it, else why not.
func (p Pair) Check(now time.Time, names []string) (*x509.Certificate, error) {
	c, err := p.TLS()
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(p.CA) {
		return nil, fmt.Errorf("certificate: its authority is missing or no PEM")
	}
	for _, name := range names {
		if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now}); err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
	}
	return c.Leaf, nil
}

// authorities are the certificates of a bundle, without what is not one.
func authorities(bundle []byte) [][]byte {
	var out [][]byte
	for {
		var block *pem.Block
		block, bundle = pem.Decode(bundle)
		if block == nil {
			return out
		}
		if block.Type == "CERTIFICATE" {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
		}
	}
}

// trusts tells whether a bundle holds an authority.
func trusts(bundle, ca []byte) bool {
	wanted := authorities(ca)
	if len(wanted) == 0 {
		return false
	}
	for _, have := range authorities(bundle) {
		if bytes.Equal(have, wanted[0]) {
			return true
		}
	}
	return false
}
