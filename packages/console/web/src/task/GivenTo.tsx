import { useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { Who } from '../parts/Who.tsx';
import { meQuery, principalQuery } from '../queries.ts';

/** What it means for an open task that it is given to somebody; nothing where it is given to nobody. */
export function GivenTo({ task }: { readonly task: Task }) {
  const { assigneeId } = task;
  const me = useQuery(meQuery).data?.principal.id;
  const { data: assignee } = useQuery({ ...principalQuery(assigneeId ?? ''), enabled: assigneeId !== null });
  const isOpen = !task.systemStatusCategory.startsWith('terminal') && task.activeClaimId === null;
  if (assigneeId === null || !isOpen) return null;
  if (assignee?.status === 'disabled')
    return (
      <p role="note">
        {assignee.displayName} is disabled and can't take it, and Baton offers it to nobody else: give it to
        somebody else.
      </p>
    );
  return (
    <p className="soft">
      Baton offers it to {assigneeId === me ? 'you' : <Who id={assigneeId} />} first, and to nobody else.
    </p>
  );
}
