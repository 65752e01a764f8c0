package podspec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/ports"
)

// rewriteListeners gives every flag that names a listening address or port one that is
// free on loopback: in a Pod each process has a network of its own, here two clusters
// share one. Both "--flag=value" and "--flag value" are understood.
func (p *Plan) rewriteListeners(args []string, next func(string) (int, error)) ([]string, error) {
	var out []string
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		name := strings.TrimLeft(flag, "-")
		if !strings.HasPrefix(flag, "-") || !listens(name) || !joined && i+1 == len(args) {
			out = append(out, args[i])
			continue
		}
		if !joined {
			i++
			value = args[i]
		}
		// "0" switches a listener off.
		if value != "0" && value != "" {
			port, err := next(name)
			if err != nil {
				return nil, fmt.Errorf("flag --%s: %w", name, err)
			}
			p.Listens[name] = ports.Address(port)
			value = p.Listens[name]
			if strings.HasSuffix(name, "-port") {
				value = strconv.Itoa(port)
			}
		}
		out = append(out, flag+"="+value)
	}
	return out, nil
}

func listens(flag string) bool {
	for _, suffix := range []string{"-bind-address", "-listen-address", "-addr", "-port"} {
		if strings.HasSuffix(flag, suffix) {
			return true
		}
	}
	return false
}

// rewritePort is the same for a variable that names a port, as HEALTHCHECK_PORT does; a
// negative number or 0 switches its listener off or leaves the choice to the process.
func (p *Plan) rewritePort(v variable, next func(string) (int, error)) (string, error) {
	port, err := strconv.Atoi(v.value)
	if err != nil || port <= 0 || !strings.HasSuffix(v.name, "_PORT") {
		return v.value, nil
	}
	if port, err = next(v.name); err != nil {
		return "", fmt.Errorf("variable %s: %w", v.name, err)
	}
	p.Listens[v.name] = ports.Address(port)
	return strconv.Itoa(port), nil
}
