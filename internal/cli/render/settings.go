package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// readSettings reads the two keys that matter here; the others are for the settings' own schema to check. Entries are read
// one by one, so that one that is wrong does not hide what is wrong with the next.
func (in *input) readSettings(w where, path string, data []byte) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		in.typeError(w, path, err)
		return
	}
	for i, data := range in.list(w, under(path, "customDrivers"), all["customDrivers"]) {
		at := fmt.Sprintf("%s[%d]", under(path, "customDrivers"), i)
		var driver profile.Driver
		ok := in.decode(w, at, "", data, &driver)
		if ok {
			if err := driver.Validate(); err != nil {
				in.fail(w, "%s: %s", at, strings.ReplaceAll(err.Error(), "\n", "; "))
				ok = false
			}
		}
		if !ok {
			in.brokenDrivers = append(in.brokenDrivers, driver.Name)
			continue
		}
		in.drivers = append(in.drivers, driver)
	}
	for i, data := range in.list(w, under(path, "claimTemplates"), all["claimTemplates"]) {
		at := fmt.Sprintf("%s[%d]", under(path, "claimTemplates"), i)
		var c settings.ClaimTemplate
		if !in.decode(w, at, "", data, &c) {
			continue
		}
		t := template{where: w, specPath: at}
		t.Name, t.Spec = c.Name, c.GPUClaimTemplateSpec
		in.add(t, at+".name")
	}
}

func (in *input) list(w where, path string, data json.RawMessage) []json.RawMessage {
	if data == nil {
		return nil
	}
	var out []json.RawMessage
	if err := json.Unmarshal(data, &out); err != nil {
		in.typeError(w, path, err)
	}
	return out
}

// profiles returns the built-in drivers and those of all settings read.
func (in *input) profiles() *profile.Set {
	builtin, err := profile.Builtin()
	if err != nil {
		in.fail(where{}, "%w", err)
	}
	set, err := profile.NewSet(append(append([]profile.Driver{}, builtin...), in.drivers...)...)
	if err == nil {
		return set
	}
	in.fail(where{}, "customDrivers: %w", err)
	// The templates are still checked as far as the built-in drivers go.
	if set, err = profile.NewSet(builtin...); err != nil {
		in.fail(where{}, "%w", err)
		set = &profile.Set{}
	}
	return set
}
