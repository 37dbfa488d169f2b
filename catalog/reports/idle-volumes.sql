-- What the rows of idle-moment.sql say of their volumes. It is asked at the same time as idle-users.sql.
WITH {until:DateTime64(6, 'UTC')} AS moment
{{template "idle_volumes.sql"}}
