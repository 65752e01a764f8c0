package nodegroups

// Filters leave out what churns without a meaning for a group (times, texts, pools, versions), so that such a change runs no
// hook, and shorten the keys, because addon-operator keeps every result in memory and decodes and encodes all of them for
// each run. They are total: whatever an object looks like, there is one result and no error, since one error in a first list
// stops the binding and the module with it. nodesByGroup and stackStatus read them.
const (
	nodeFilter = `{
n: ((.metadata.name? | strings) // ""),
g: [.status.groups?[]? | strings],
p: ((.status.passive? | booleans) // false),
t: ((.status.terminating? | booleans) // false),
m: [.status.memory? | objects | (.capacity, .allocatable, .hugePages)? | (strings // "")],
d: [.status.drivers?[]? | objects | {
  n: ((.name | strings) // ""),
  e: ((.expected | booleans) // false),
  r: ((.registered | booleans) // false),
  a: ((.accelerator | booleans) // false),
  h: ((.highWater | numbers) // 0),
  c: [.devices? | (.physical, .published, .allocatableWhole, .tainted)? | (numbers // 0)]}],
v: [.status.devices?[]? | objects | {
  d: ((.driver | strings) // ""),
  k: ((.kind | strings) // ""),
  t: ((.type | strings) // ""),
  p: ((.product | strings) // ""),
  a: ((.partition | strings) // ""),
  m: ((.memory | strings) // ""),
  c: ((.count | numbers) // 0),
  x: ((.tainted | numbers) // 0)}],
c: [.status.conditions?[]? | objects | {
  t: ((.type | strings) // ""),
  s: ((.status | strings) // ""),
  r: ((.reason | strings) // "")}]}`

	stackFilter = `{
n: ((.metadata.name? | strings) // ""),
y: ((.status.synced? | booleans) // false),
h: ((.status.settingsHash? | strings) // "")}`
)
