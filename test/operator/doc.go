// Package operator holds no program of its own: its go.mod pins the real addon-operator, as
// Deckhouse runs it, and everything that program is made of, so that `cluster operator
// start` (test/cluster) builds one and the same program everywhere. Beside it stand tests
// of the module's files against addon-operator's own code.
//
// It is a module of its own because addon-operator stands on an older Kubernetes client
// than the product: the two sets of pins must never meet.
package operator
