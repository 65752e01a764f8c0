package cluster

// Filters leave out what churns without a meaning for the templates (the heartbeat, counts, conditions), so that such a change
// runs no hook. They are total: whatever an object looks like, there is one result and no error, since one error in a first
// list stops the binding and the module with it. Their shape is that of stackFact and classFact.
const (
	stackFilter = `(.status? | objects) // {} | {
synced: ((.synced | booleans) // false),
kubernetesVersion: ((.kubernetesVersion | strings) // ""),
resourceAPIs: [.resourceAPIs[]? | strings],
settingsHash: ((.settingsHash | strings) // ""),
needed: [.featureGates.needed?[]? | objects | {
  name: ((.name | strings) // ""),
  state: ((.effective | strings) // (.state | strings) // "")}],
instances: [.featureGates.instances?[]? | objects | {
  component: ((.component | strings) // ""),
  name: ((.name | strings) // ""),
  version: ((.version | strings) // ""),
  unreadable: ((.unreadable | strings) // ""),
  set: ((.set | objects | with_entries(select(.value | type == "boolean"))) // {})}]}`

	classFilter = `{
name: ((.metadata.name? | strings) // ""),
module: ((.metadata.labels?.module? | strings) // ""),
release: ((.metadata.annotations?."meta.helm.sh/release-name"? | strings) // "")}`
)
