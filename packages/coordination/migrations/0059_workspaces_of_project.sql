-- The workspaces of one project, without those of the projects below it.
create index workspaces_of_project on workspaces (project_id) where project_id is not null;
