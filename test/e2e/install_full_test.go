//go:build e2e && full

package e2e

func init() { installs = 20 }
