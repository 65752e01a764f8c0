package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// spec is one stage of a gate as the sources have it.
type spec struct {
	from       int
	stage      string
	on, locked bool
	// minCompat is the minor of MinCompatibilityVersion, 0 without one.
	minCompat int
	// lockAnnounced and removalAnnounced are the minors that the comment behind the last stage promises, 0 without one.
	lockAnnounced, removalAnnounced int
}

// source is what one version of Kubernetes says of its gates.
type source struct {
	version string
	minor   int
	// dir is the folder of the sources.
	dir string
	// specs by gate, in the order of the source.
	specs map[string][]spec
	// needs by gate; nil before 1.35, which is the first that has them.
	needs map[string][]string
	// groupVersions are the registered versions of the API groups that gates are tied to, sorted.
	groupVersions []string
}

// files hold the gates; the second is there up to 1.32 only.
var files = []string{"kube_features.go", "versioned_kube_features.go"}

func parse(version, dir string) (*source, error) {
	minor, err := minorOf(version)
	if err != nil {
		return nil, err
	}
	s := &source{version: version, minor: minor, dir: dir, specs: map[string][]spec{}}
	for _, name := range files {
		if err := s.parseFile(filepath.Join(dir, "pkg", "features", name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("sources of Kubernetes %s: %w", version, err)
		}
	}
	if len(s.specs) < 50 {
		return nil, fmt.Errorf("sources of Kubernetes %s: found %d feature gates in pkg/features, expected more than 50: its form has changed, teach internal/gen/gates about it",
			version, len(s.specs))
	}
	// Those that internal/featuregate ties gates to; TestGatesThatWaitForAnAPI misses one that is not here.
	for _, group := range []string{"resource", "scheduling"} {
		data, err := os.ReadFile(filepath.Join(dir, "pkg", "apis", group, "install", "install.go"))
		if err != nil {
			return nil, err
		}
		for _, m := range registered.FindAllStringSubmatch(string(data), -1) {
			s.groupVersions = append(s.groupVersions, group+".k8s.io/"+m[1])
		}
	}
	slices.Sort(s.groupVersions)
	return s, nil
}

// registered finds the versions that an API group is installed with.
var registered = regexp.MustCompile(`"k8s\.io/kubernetes/pkg/apis/[a-z]+/(v[a-z0-9]+)"`)

func (s *source) parseFile(path string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	comments := map[int]string{}
	for _, group := range file.Comments {
		comments[set.Position(group.Pos()).Line] = group.Text()
	}
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR {
			continue
		}
		for _, v := range d.Specs {
			v := v.(*ast.ValueSpec)
			if len(v.Values) != 1 {
				continue
			}
			table, ok := v.Values[0].(*ast.CompositeLit)
			if !ok {
				continue
			}
			switch v.Names[0].Name {
			case "defaultKubernetesFeatureGates", "defaultVersionedKubernetesFeatureGates":
				err = s.gates(table, func(n ast.Node) string { return comments[set.Position(n.End()).Line] })
			case "defaultKubernetesFeatureGateDependencies":
				err = s.dependencies(table)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *source) gates(table *ast.CompositeLit, comment func(ast.Node) string) error {
	for _, e := range table.Elts {
		pair := e.(*ast.KeyValueExpr)
		gate := last(pair.Key)
		value, ok := pair.Value.(*ast.CompositeLit)
		if !ok || gate == "" {
			return fmt.Errorf("the entry of gate %q is no literal", gate)
		}
		list := []ast.Expr{value}
		if len(value.Elts) > 0 {
			if _, versioned := value.Elts[0].(*ast.CompositeLit); versioned {
				list = value.Elts
			}
		}
		for _, item := range list {
			one, err := s.spec(item.(*ast.CompositeLit))
			if err != nil {
				return fmt.Errorf("gate %s: %w", gate, err)
			}
			one.lockAnnounced, one.removalAnnounced = announced(comment(item))
			s.specs[gate] = append(s.specs[gate], one)
		}
	}
	return nil
}

// spec reads one stage. Up to 1.32 some gates have no version: what they say is true of the minor that they stand in.
func (s *source) spec(literal *ast.CompositeLit) (spec, error) {
	out := spec{from: s.minor}
	for _, e := range literal.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return out, errors.New("a field without a name")
		}
		var err error
		switch key := last(pair.Key); key {
		case "Version":
			out.from, err = parsedVersion(pair.Value)
		case "MinCompatibilityVersion":
			out.minCompat, err = parsedVersion(pair.Value)
		case "Default":
			out.on = last(pair.Value) == "true"
		case "LockToDefault":
			out.locked = last(pair.Value) == "true"
		case "PreRelease":
			out.stage = last(pair.Value)
		default:
			err = fmt.Errorf("a field %s that is not known", key)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (s *source) dependencies(table *ast.CompositeLit) error {
	s.needs = map[string][]string{}
	for _, e := range table.Elts {
		pair := e.(*ast.KeyValueExpr)
		list, ok := pair.Value.(*ast.CompositeLit)
		if !ok {
			return fmt.Errorf("the dependencies of %s are no literal", last(pair.Key))
		}
		for _, item := range list.Elts {
			s.needs[last(pair.Key)] = append(s.needs[last(pair.Key)], last(item))
		}
	}
	return nil
}

// last is the name at the end of an expression: a gate's constant has the gate's own name.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			return last(e.Args[0])
		}
	}
	return ""
}

// parsedVersion reads version.MustParse("1.34").
func parsedVersion(e ast.Expr) (int, error) {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		if text, ok := call.Args[0].(*ast.BasicLit); ok {
			if value, err := strconv.Unquote(text.Value); err == nil {
				return minorOf(value)
			}
		}
	}
	return 0, errors.New(`a version that is not written as version.MustParse("1.34")`)
}

var (
	lockComment    = regexp.MustCompile(`(?i)lock ?to ?default(?:: true)?(?: in)? v?1\.(\d+)`)
	removalComment = regexp.MustCompile(`(?i)remove in v?1\.(\d+)`)
)

// announced reads the minors in which a comment promises the lock and the removal of a gate.
func announced(comment string) (lock, removal int) {
	number := func(pattern *regexp.Regexp) int {
		m := pattern.FindStringSubmatch(strings.ReplaceAll(comment, "\n", " "))
		if m == nil {
			return 0
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return number(lockComment), number(removalComment)
}
