package cluster

// Filters leave out what churns without a meaning for the templates (the heartbeat, counts, conditions, instances of the control
// plane), so that such a change runs no hook. They are total: whatever an object looks like, there is one result and no error, since one error in a first
// list stops the binding and the module with it. Their shape is that of stackFact and classFact.
const (
	stackFilter = `(.status? | objects) // {} | {
synced: ((.synced | booleans) // false),
kubernetesVersion: ((.kubernetesVersion | strings) // ""),
needed: [.featureGates.needed?[]? | objects | {
  name: ((.name | strings) // ""),
  state: ((.effective | strings) // (.state | strings) // "")}]}`

	classFilter = `{
name: ((.metadata.name? | strings) // ""),
module: ((.metadata.labels?.module? | strings) // "")}`
)
