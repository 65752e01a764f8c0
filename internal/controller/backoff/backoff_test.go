package backoff

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestLimiter(t *testing.T) {
	l := Limiter()
	of := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
	}
	for i := range 1000 {
		require.Equal(t, First, l.When(of(string(rune(i+1000)))), "objects do not wait for each other")
	}
	require.Equal(t, 2*First, l.When(of(string(rune(1000)))))
	for range 20 {
		l.When(of("x"))
	}
	require.Equal(t, Longest, l.When(of("x")))
	l.Forget(of("x"))
	require.Equal(t, First, l.When(of("x")))
}
