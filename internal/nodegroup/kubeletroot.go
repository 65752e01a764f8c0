package nodegroup

import (
	"cmp"
	"fmt"
	"path"
)

// KubeletRootDir is where the kubelets of the group have their files: the settings say it, or the platform's object of the group, or
// it is as usual on the distribution.
func KubeletRootDir(in Input) string {
	return cmp.Or(in.Group.KubeletRootDir, in.Platform.KubeletRootDir, in.Distribution.KubeletRootDir)
}

// kubeletRootFault names the first driver of the group whose plugin works with another root directory only; empty: there is none. Such a
// plugin publishes its devices and puts its sockets where no kubelet looks, so pods with claims would wait for ever. The chart refuses
// what the settings say of it in the same words.
func kubeletRootFault(in Input) string {
	root := KubeletRootDir(in)
	for _, name := range in.Group.Drivers {
		p, ok := in.Profiles.ByName(name)
		if !ok || p.Plugin == nil || p.Plugin.KubeletRoot == "" || root == "" || path.Clean(root) == path.Clean(p.Plugin.KubeletRoot) {
			continue
		}
		where := "the distribution " + in.Distribution.Name
		switch {
		case in.Group.KubeletRootDir != "":
			where = fmt.Sprintf("nodeGroups[name=%s].kubeletRootDir", in.Group.Name)
		case in.Platform.KubeletRootDir != "":
			where = fmt.Sprintf("spec.kubelet.rootDir of NodeGroup %s", in.Group.Name)
		}
		return fmt.Sprintf("%s: found %q, expected %q: the plugin of the driver %s works with no other; move the kubelets, or take the driver off nodeGroups[name=%s].drivers",
			where, root, p.Plugin.KubeletRoot, name, in.Group.Name)
	}
	return ""
}
