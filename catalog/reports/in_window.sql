{{- /* Included by other reports: whether a mount was in use between {since} and {until}. */ -}}
pod_created_at <= {until:DateTime64(6, 'UTC')}
      AND {{template "lasted_at.sql"}}
