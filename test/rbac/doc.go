// Package rbac tests that the rights in deploy/rbac.yaml are enough for the tracker, that it needs each of them, that
// it says which one is missing, and that it can do nothing else with them. KUBEVOLTRACKER_RBAC names another file with
// such objects to test, as rendered from a chart.
package rbac
