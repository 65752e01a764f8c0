// Package podspec turns a Pod, or the Pod that a Deployment describes, into a process on this
// machine: its arguments and environment with mounted paths and listening addresses put
// where a process of this cluster may have them.
package podspec

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// PodName is what metadata.name says to the process: it is no Pod of the API server.
const PodName = "controller-process"

// accountFolder is where the token of a Pod's ServiceAccount is mounted.
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// Objects finds what a Pod refers to. A missing one is an error.
type Objects interface {
	ConfigMap(name string) (*corev1.ConfigMap, error)
	Secret(name string) (*corev1.Secret, error)
}

// Plan is the process that stands for the Deployment's Pod.
type Plan struct {
	// Args follow the program's name.
	Args []string `json:"args"`
	Env  []string `json:"env"`
	// Files are the contents of the volumes: path below the volumes' folder → content.
	Files map[string][]byte `json:"-"`
	// Folders are volumes that start empty, and those of the host.
	Folders []string `json:"-"`
	// Listens says which flag got which address.
	Listens        map[string]string `json:"listens"`
	ServiceAccount string            `json:"serviceAccount"`
}

// Make builds the plan for the first container of a Deployment. volumes is the folder the
// volumes' files will be written to; next gives a free loopback port for each listener.
func Make(deployment *appsv1.Deployment, objects Objects, volumes string, next func(listener string) (int, error)) (*Plan, error) {
	pod := deployment.Spec.Template.Spec
	if len(pod.Containers) == 0 {
		return nil, fmt.Errorf("the Deployment %s/%s has no container", deployment.Namespace, deployment.Name)
	}
	return makePlan(pod, pod.Containers[0], hostNetworkFields(deployment.Namespace), false, objects, volumes, next)
}

// MakePod builds the plan for one container of a Pod, an init container too; "" is the
// first. Volumes of the host become folders of their own, which stay as they are.
func MakePod(pod *corev1.Pod, container string, objects Objects, volumes string, next func(listener string) (int, error)) (*Plan, error) {
	if pod.Spec.NodeName == "" {
		return nil, fmt.Errorf("the Pod %s/%s is on no node yet", pod.Namespace, pod.Name)
	}
	all := append(slices.Clone(pod.Spec.Containers), pod.Spec.InitContainers...)
	at := slices.IndexFunc(all, func(c corev1.Container) bool { return container == "" || c.Name == container })
	if at < 0 {
		return nil, fmt.Errorf("the Pod %s/%s has no container %q", pod.Namespace, pod.Name, container)
	}
	return makePlan(pod.Spec, all[at], podFields(pod), true, objects, volumes, next)
}

func makePlan(pod corev1.PodSpec, container corev1.Container, fields map[string]string, host bool, objects Objects, volumes string,
	next func(string) (int, error)) (*Plan, error) {
	plan := &Plan{Files: map[string][]byte{}, Listens: map[string]string{}, ServiceAccount: pod.ServiceAccountName}
	if plan.ServiceAccount == "" {
		plan.ServiceAccount = "default"
	}
	mounted, err := plan.mount(pod.Volumes, container.VolumeMounts, host, objects, volumes)
	if err != nil {
		return nil, err
	}
	env, err := environment(fields, container, objects)
	if err != nil {
		return nil, err
	}
	args := slices.Clone(container.Args)
	if len(container.Command) > 1 {
		args = append(slices.Clone(container.Command[1:]), args...)
	}
	for i := range args {
		args[i] = moved(expand(args[i], env), mounted)
	}
	if plan.Args, err = plan.rewriteListeners(args, next); err != nil {
		return nil, err
	}
	for _, variable := range env {
		value, err := plan.rewritePort(variable, next)
		if err != nil {
			return nil, err
		}
		plan.Env = append(plan.Env, variable.name+"="+moved(value, mounted))
	}
	return plan, nil
}

// place is where a mount path went.
type place struct{ mountPath, path string }

// mount reads the volumes that the container mounts. Longer paths come first in the
// answer, so that a mount within another one wins.
func (p *Plan) mount(volumes []corev1.Volume, mounts []corev1.VolumeMount, host bool, objects Objects, root string) ([]place, error) {
	var places []place
	for _, mount := range mounts {
		// Every Pod of the API server has it; a process has a kubeconfig in its place.
		if mount.MountPath == accountFolder {
			continue
		}
		at := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if at < 0 {
			return nil, fmt.Errorf("mount %s: the Pod has no volume %s", mount.MountPath, mount.Name)
		}
		if err := p.readVolume(volumes[at], host, objects); err != nil {
			return nil, err
		}
		places = append(places, place{strings.TrimRight(mount.MountPath, "/"), filepath.Join(root, mount.Name, mount.SubPath)})
	}
	slices.SortStableFunc(places, func(a, b place) int { return len(b.mountPath) - len(a.mountPath) })
	return places, nil
}

func (p *Plan) readVolume(volume corev1.Volume, host bool, objects Objects) error {
	content := map[string][]byte{}
	var items []corev1.KeyToPath
	switch {
	case volume.ConfigMap != nil:
		object, err := objects.ConfigMap(volume.ConfigMap.Name)
		if err != nil {
			return fmt.Errorf("volume %s: %w", volume.Name, err)
		}
		for key, text := range object.Data {
			content[key] = []byte(text)
		}
		for key, raw := range object.BinaryData {
			content[key] = raw
		}
		items = volume.ConfigMap.Items
	case volume.Secret != nil:
		object, err := objects.Secret(volume.Secret.SecretName)
		if err != nil {
			return fmt.Errorf("volume %s: %w", volume.Name, err)
		}
		content, items = object.Data, volume.Secret.Items
	case volume.EmptyDir != nil:
		p.Folders = append(p.Folders, volume.Name)
		return nil
	case volume.HostPath != nil && host:
		p.Folders = append(p.Folders, volume.Name)
		return nil
	default:
		return fmt.Errorf("volume %s: expected configMap, secret or emptyDir: a process cannot be given any other kind here", volume.Name)
	}
	if len(items) == 0 {
		for key := range content {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		raw, ok := content[item.Key]
		if !ok {
			return fmt.Errorf("volume %s: its object has no key %s", volume.Name, item.Key)
		}
		p.Files[filepath.Join(volume.Name, item.Path)] = raw
	}
	return nil
}

// moved replaces every mount path in a text and what lies below it; a path that only begins
// or ends with the same letters stays. Longer mount paths come first.
func moved(text string, places []place) string {
	var out strings.Builder
	for at := 0; at < len(text); {
		i := -1
		if at == 0 || strings.ContainsRune("=,: ", rune(text[at-1])) {
			i = slices.IndexFunc(places, func(p place) bool {
				rest, ok := strings.CutPrefix(text[at:], p.mountPath)
				return ok && p.mountPath != "" && (rest == "" || strings.ContainsRune("/,: ", rune(rest[0])))
			})
		}
		if i < 0 {
			out.WriteByte(text[at])
			at++
			continue
		}
		out.WriteString(places[i].path)
		at += len(places[i].mountPath)
	}
	return out.String()
}
