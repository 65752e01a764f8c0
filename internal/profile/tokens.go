package profile

import (
	"regexp"
	"slices"
	"strings"
)

// rootTokens begin an absolute path.
var rootTokens = []string{"{kubeletRoot}", "{cdiRoot}", "{driverRoot}", "{driverRootParent}"}

// pathTokens always have a value, so a path with one is never left out.
var pathTokens = append([]string{"{driverRootName}"}, rootTokens...)

// allTokens are what the chart fills in.
var allTokens = append([]string{"{featureGates}", "{logLevel}", "{image}", "{pullSecrets}", "{namespace}"}, pathTokens...)

// runTokens differ between the DaemonSet of an exporter and a sidecar, or follow from the settings of exporters.
var runTokens = []string{"{listen}", "{port}", "{interval}", "{intervalMs}", "{intervalSeconds}"}

// exporterTokens are those of an exporter's env and args.
var exporterTokens = append(append([]string{"{namespace}"}, runTokens...), pathTokens...)

// sidecarTokens: in somebody else's pod there is no host. {config} is where the exporter's own files are.
var sidecarTokens = append([]string{"{config}"}, runTokens...)

// configTokens are those of an exporter's own files, which all node groups share.
var configTokens = append([]string{"{counters}", "{metrics}", "{profiling}"}, runTokens...)

// token is what reads as one. `${NAME}` is a shell's.
var token = regexp.MustCompile(`(?:^|[^$])(\{[A-Za-z]+\})`)

// tokens reports words in braces that the chart would leave as they are.
func (c *checker) tokens(field, text string, allowed []string) {
	for _, found := range token.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(allowed, found[1]) {
			c.wrong(field, found[1], "one of the tokens "+strings.Join(allowed, ", "))
		}
	}
}

// path checks an absolute path on the host or in a container.
func (c *checker) path(field, path string) {
	rooted := strings.HasPrefix(path, "/") || slices.ContainsFunc(rootTokens, func(t string) bool { return path == t || strings.HasPrefix(path, t+"/") })
	if !rooted || !plainPath(path) {
		c.wrong(field, path, "an absolute path, or one that begins with "+strings.Join(rootTokens, ", ")+"; without .. and without , : =")
	}
	c.tokens(field, path, pathTokens)
}

// plainPath: a list of paths is cut at commas, a volume of a path at colons.
func plainPath(path string) bool {
	return !strings.ContainsAny(path, ",:=\n") && !slices.Contains(strings.Split(path, "/"), "..")
}
