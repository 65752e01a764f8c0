// Package rules tests the rules and the dashboards of the chart with promtool, the tool of Prometheus itself. It needs no cluster; it
// stands among the tests that do because promtool is built from source as their programs are.
package rules
