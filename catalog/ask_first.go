package catalog

import (
	"context"
	"time"
)

// A report can ask a small statement before its own: whether there is anything to tell, how much there is to read, or which sums there are.

// askFirst asks whether a report has nothing to tell, or how little one with a limit has to read, and sets these parameters of its statement. To find
// that out in the statement itself takes ClickHouse seconds before it begins: it resolves a WITH again for each subquery that names it.
func (c *Catalog) askFirst(ctx context.Context, explain func(error) error, r Report, s Statement, w window) (nothing bool, err error) {
	if !r.seldom && (len(r.bounds) == 0 || s.Parameters["limit"] == noLimit) {
		return false, nil
	}
	first, err := expand(r.Name+"-first.sql", "")
	if err != nil {
		return false, err
	}
	for _, from := range w.from(c.now(), r.lookBack) {
		s.Parameters["from"] = parameter(from)
		if found, err := c.askParameters(ctx, explain, r, first, s); err != nil || found {
			return false, err
		}
	}
	return r.seldom, nil
}

// takeQuarters has a report that can read sums of quarters read those that there are in its window.
func (c *Catalog) takeQuarters(ctx context.Context, explain func(error) error, r Report, s *Statement, w window) error {
	if !r.quarterly || !w.hasQuarter(c.now()) || r.wide && narrow(s.Parameters) {
		return nil
	}
	quarters, err := expand("quarters.sql", "")
	if err != nil {
		return err
	}
	if found, err := c.askParameters(ctx, explain, r, quarters, *s); err != nil || !found {
		return err
	}
	s.SQL, err = expand(r.file(s.Parameters), "quarters")
	return err
}

// askParameters asks a statement with the parameters of another one, which get the columns of its row; found says whether it has one.
func (c *Catalog) askParameters(ctx context.Context, explain func(error) error, r Report, sql string, s Statement) (found bool, err error) {
	result, err := c.runReport(ctx, explain, Statement{SQL: sql, Parameters: s.Parameters}, r)
	if err != nil {
		return false, err
	}
	defer result.Close()
	if found = result.Next(); found {
		for i, column := range result.Columns {
			switch value := result.Row()[i].(type) {
			case time.Time:
				s.Parameters[column.Name] = parameter(value)
			case string:
				s.Parameters[column.Name] = value
			}
		}
	}
	return found, result.Err()
}
