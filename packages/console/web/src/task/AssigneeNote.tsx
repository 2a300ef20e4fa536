import { useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { Who } from '../parts/Who.tsx';
import { meQuery, principalQuery } from '../queries.ts';

/** Explains the effect of the assignment on an open task; nothing for an unassigned one. */
export function AssigneeNote({ task }: { readonly task: Task }) {
  const { assigneeId } = task;
  const me = useQuery(meQuery).data?.principal.id;
  const { data: assignee } = useQuery({ ...principalQuery(assigneeId ?? ''), enabled: assigneeId !== null });
  const isOpen = !task.systemStatusCategory.startsWith('terminal') && task.activeClaimId === null;
  if (assigneeId === null || !isOpen) return null;
  if (assignee?.status === 'disabled')
    return (
      <p role="note">
        {assignee.displayName} is disabled and can't claim this task, and Baton offers it to nobody else.
        Assign it to somebody else.
      </p>
    );
  return (
    <p className="soft">
      Baton offers this task to {assigneeId === me ? 'you' : <Who id={assigneeId} />} only.
    </p>
  );
}
