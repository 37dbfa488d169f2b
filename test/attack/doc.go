// Package attack has no code outside its tests: what a determined attacker tries against the built
// programs, and why none of it gets through. See docs/security.md, which it proves.
package attack
