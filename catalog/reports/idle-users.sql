-- The claims of the rows of idle-moment.sql, and who used them last.
WITH
{until:DateTime64(6, 'UTC')} AS moment,
{{template "idle_last_uses.sql"}}
{{template "idle_users.sql"}}
