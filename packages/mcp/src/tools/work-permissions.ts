/**
 * The permissions that every tool in the toolset `work` requires: it opens a session, and reads the rules of the tasks
 * that it takes.
 */
export const workPermissions = ['sessions.open', 'tasks.claim', 'tasks.read', 'task_types.read'] as const;
