package featuregate

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func gates(list string) map[string]bool {
	out := map[string]bool{}
	for _, item := range strings.Fields(list) {
		out[strings.Trim(item, "+-")] = strings.HasPrefix(item, "+")
	}
	return out
}

func TestParseArgs(t *testing.T) {
	for name, tc := range map[string]struct {
		component string // kube-apiserver if empty
		argv      []string
		want      string
	}{
		"none":                 {argv: []string{"kube-apiserver", "--secure-port=6443"}},
		"one flag":             {argv: []string{"kube-apiserver", "--feature-gates=A=true,B=false"}, want: "+A -B"},
		"two arguments":        {argv: []string{"kube-apiserver", "--feature-gates", "A=true", "--v=2"}, want: "+A"},
		"flags merge":          {argv: []string{"kube-apiserver", "--feature-gates=A=true", "--feature-gates=B=true"}, want: "+A +B"},
		"last wins":            {argv: []string{"kube-apiserver", "--feature-gates=A=true,A=false"}, want: "-A"},
		"last wins over flags": {argv: []string{"kube-apiserver", "--feature-gates=A=false", "--feature-gates=A=true"}, want: "+A"},
		"kube prefix":          {argv: []string{"kube-apiserver", "--feature-gates=kube:A=true,kube:B=false"}, want: "+A -B"},
		"spaces and commas":    {argv: []string{"kube-apiserver", "--feature-gates=, A = true ,,B=F"}, want: "+A -B"},
		"all forms of bool":    {argv: []string{"kube-apiserver", "--feature-gates=A=1,B=t,C=TRUE,D=0"}, want: "+A +B +C -D"},
		"groups":               {argv: []string{"kube-apiserver", "--feature-gates=AllAlpha=true,AllBeta=false"}, want: "+AllAlpha -AllBeta"},
		"underscore":           {argv: []string{"kube-apiserver", "--feature_gates=A=true"}, want: "+A"},
		"path":                 {argv: []string{"/usr/local/bin/kube-apiserver", "--feature-gates=A=true"}, want: "+A"},
		"entrypoint":           {argv: []string{"--feature-gates=A=true"}, want: "+A"},
		"after double dash":    {argv: []string{"kube-apiserver", "--", "--feature-gates=A=true"}},
		"wrapper":              {argv: []string{"/go-runner", "--log-file=/var/log/a", "/usr/bin/kube-apiserver", "--feature-gates=A=true"}, want: "+A"},
		"hyperkube":            {argv: []string{"hyperkube", "kube-apiserver", "--feature-gates=A=true"}, want: "+A"},
		"other's variable":     {argv: []string{"kube-apiserver", "--advertise-address=$(IP)", "--bind-address", "$(IP)", "--feature-gates=A=true"}, want: "+A"},
		"escaped variable":     {argv: []string{"kube-apiserver", "--x=$$(IP)", "--feature-gates=A=true"}, want: "+A"},
		"value named like us":  {argv: []string{"kube-apiserver", "--name", "kube-apiserver", "--feature-gates=A=true"}, want: "+A"},
		"shell":                {argv: []string{"sh", "-c", "exec kube-apiserver --feature-gates=A=true"}, want: "+A"},
		"shell options":        {argv: []string{"/bin/bash", "-e", "-o", "pipefail", "-c", "kube-apiserver --feature-gates=A=true"}, want: "+A"},
		"shell options, joint": {argv: []string{"bash", "-euo", "pipefail", "-c", "kube-apiserver --feature-gates=A=true"}, want: "+A"},
		"shell behind a shim":  {argv: []string{"/tini", "--", "sh", "-ec", "exec kube-apiserver --feature-gates=A=true"}, want: "+A"},
		"shell quotes":         {argv: []string{"sh", "-c", `exec "kube-apiserver" '--feature-gates=A=true',"B=false" --x="a b"`}, want: "+A -B"},
		"shell lines":          {argv: []string{"sh", "-c", "set -e\n# kube-apiserver --feature-gates=C=true\nexec kube-apiserver \\\n  --x=$IP \\\n  --feature-gates=A=true \\\n  >>/var/log/a.log 2>&1 </dev/null"}, want: "+A"},
		"shell mention":        {argv: []string{"sh", "-c", "echo starting kube-apiserver --feature-gates=B=true && exec kube-apiserver --feature-gates=A=true"}, want: "+A"},
		"shell environment":    {argv: []string{"sh", "-c", "GOGC=50 kube-apiserver --feature-gates=A=true | tee /log"}, want: "+A"},
		"shell wrapper":        {argv: []string{"sh", "-c", "exec /go-runner --log-file=/a kube-apiserver --feature-gates=A=true"}, want: "+A"},
		"shell arguments":      {argv: []string{"sh", "-c", `exec kube-apiserver "$@"`, "--", "--feature-gates=A=true"}, want: "+A"},
		"shell value behind":   {argv: []string{"sh", "-c", `exec kube-apiserver --bind-address "$IP" --feature-gates=A=true`}, want: "+A"},
		"shell same twice":     {argv: []string{"sh", "-c", "if a; then kube-apiserver --x --feature-gates=A=true; else kube-apiserver --feature-gates=A=true; fi"}, want: "+A"},
		"scheduler":            {component: Scheduler, argv: []string{"kube-scheduler", "--config=/etc/s.yaml", "--feature-gates=A=true"}, want: "+A"},
	} {
		t.Run(name, func(t *testing.T) {
			component := tc.component
			if component == "" {
				component = APIServer
			}
			got, err := ParseArgs(component, tc.argv)
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got.Set, gates(tc.want)) {
				t.Errorf("%v, want %s", got.Set, tc.want)
			}
		})
	}
}

func TestParseArgsSaysWhatItFound(t *testing.T) {
	for name, tc := range map[string]struct {
		component string
		argv      []string
		want      string
	}{
		"nothing":             {argv: nil, want: "neither command nor arguments"},
		"another program":     {argv: []string{"/start.sh", "kube", "a", "b"}, want: `found "/start.sh" "kube" "a" ...`},
		"no value":            {argv: []string{"kube-apiserver", "--feature-gates"}, want: "has no value"},
		"no bool":             {argv: []string{"kube-apiserver", "--feature-gates=A"}, want: `found "A", expected Gate=true`},
		"odd bool":            {argv: []string{"kube-apiserver", "--feature-gates=A=on"}, want: `found "A=on"`},
		"mixed prefix":        {argv: []string{"kube-apiserver", "--feature-gates=kube:A=true", "--feature-gates=B=true"}, want: "prefix kube:"},
		"foreign prefix":      {argv: []string{"kube-apiserver", "--feature-gates=wardle:A=true"}, want: "wardle:"},
		"variable":            {argv: []string{"kube-apiserver", "--feature-gates=A=true,$(MORE)"}, want: "comes from a variable"},
		"hidden arguments":    {argv: []string{"kube-apiserver", "$(ARGS)"}, want: `"$(ARGS)" comes from a variable`},
		"shell variable":      {argv: []string{"sh", "-c", `exec kube-apiserver --feature-gates="$GATES"`}, want: "comes from a variable"},
		"shell hidden":        {argv: []string{"sh", "-c", "exec kube-apiserver --x=1 $ARGS"}, want: `"$ARGS"`},
		"shell command":       {argv: []string{"sh", "-c", "exec kube-apiserver $(cat /args)"}, want: `"$(cat /args)"`},
		"shell no component":  {argv: []string{"sh", "-c", "exec /start.sh"}, want: "kube-apiserver is not started here"},
		"shell file":          {argv: []string{"sh", "/start.sh"}, want: `found "sh" "/start.sh"`},
		"shell quote":         {argv: []string{"sh", "-c", "exec kube-apiserver 'a"}, want: "single quote is not closed"},
		"shell document":      {argv: []string{"sh", "-c", "cat <<E\nkube-apiserver\nE\n"}, want: "here-document"},
		"shell two":           {argv: []string{"sh", "-c", "kube-apiserver --feature-gates=A=true || kube-apiserver"}, want: "in 2 places"},
		"emulated":            {argv: []string{"kube-apiserver", "--emulated-version=latest"}, want: `found "latest"`},
		"emulated twice":      {argv: []string{"kube-apiserver", "--emulated-version=1.33", "--emulated-version=1.34"}, want: `found "1.33,1.34"`},
		"emulated of another": {argv: []string{"kube-apiserver", "--emulated-version=wardle=1.2"}, want: "wardle"},
		"runtime config":      {argv: []string{"kube-apiserver", "--runtime-config=resource.k8s.io/v1=yes"}, want: "resource.k8s.io/v1=yes"},
	} {
		t.Run(name, func(t *testing.T) {
			component := tc.component
			if component == "" {
				component = APIServer
			}
			if got, err := ParseArgs(component, tc.argv); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, error %v, want one with %q", got, err, tc.want)
			}
		})
	}
}

func TestParseArgsReadsMoreThanGates(t *testing.T) {
	got, err := ParseArgs(APIServer, []string{"kube-apiserver", "--emulated-version=kube=1.33", "--feature-gates=A=true,B=true",
		"--runtime-config=resource.k8s.io/v1beta1=true,api/alpha", "--feature-gates", "A=false,B=true", "--runtime-config=api/all=false"})
	if err != nil {
		t.Fatal(err)
	}
	want := Flags{
		Set: gates("-A +B"), Emulated: 33, Twice: []Twice{{Gate: "A", Values: []bool{true, false}}, {Gate: "B", Values: []bool{true, true}}},
		RuntimeConfig: map[string]bool{"resource.k8s.io/v1beta1": true, "api/alpha": true, "api/all": false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	dynamic, err := ParseArgs(APIServer, []string{"hyperkube", "kube-apiserver", "--openshift-config=$(CONFIG)"})
	if err != nil || dynamic.File != "$(CONFIG)" {
		t.Errorf("%+v %v", dynamic, err)
	}
	wrapped, err := ParseArgs(APIServer, []string{"hyperkube", "kube-apiserver", "--openshift-config=/etc/config.json"})
	if err != nil || wrapped.File != "/etc/config.json" {
		t.Errorf("%+v %v", wrapped, err)
	}
}

// FuzzParseArgs: any script gives flags or an error, never a panic, and the same flags when read again.
func FuzzParseArgs(f *testing.F) {
	for _, script := range []string{
		"exec kube-apiserver --feature-gates=A=true", `kube-apiserver "$@" 2>&1 | tee /l`, "kube-apiserver $(", "a \"$", "`", "<<", "kube-apiserver --feature-gates",
	} {
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script string) {
		for _, argv := range [][]string{{"sh", "-c", script, "sh", script}, {script}, {"kube-apiserver", script}, strings.Fields("kube-apiserver " + script)} {
			first, err := ParseArgs(APIServer, argv)
			second, again := ParseArgs(APIServer, argv)
			if (err == nil) != (again == nil) || !cmp.Equal(first, second) {
				t.Fatalf("%q: %+v %v, then %+v %v", argv, first, err, second, again)
			}
		}
	})
}
