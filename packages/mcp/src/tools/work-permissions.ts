/** What every tool of the toolset `work` needs: it opens a session, and takes tasks whose rules it must know. */
export const workPermissions = ['sessions.open', 'tasks.claim', 'tasks.read', 'task_types.read'] as const;
