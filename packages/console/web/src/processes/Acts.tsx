import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ProcessInstance } from '@baton/sdk';
import { baton } from '../client.ts';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';

type Act = 'suspend' | 'resume' | 'skip' | 'cancel';

/**
 * The actions that an operator can perform on an instance. All but `resume` require a reason, which the journal
 * records.
 */
export function Acts({ instance }: { instance: ProcessInstance }) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const mayOperate = useQuery(meQuery).data?.permissions.includes('processes.operate') ?? false;
  const [selected, setSelected] = useState<Act>();
  const [reason, setReason] = useState('');
  const element = instance.suspension?.element ?? null;
  const act = useMutation({
    mutationFn: (what: Act) => {
      const options = { idempotencyKey: keys.of([what, reason, instance.updatedAt]) };
      const { id } = instance;
      if (what === 'resume') return baton.processInstances.resume(id, {}, options);
      if (what === 'suspend') return baton.processInstances.suspend(id, { reason }, options);
      if (what === 'skip')
        return baton.processInstances.skip(id, { element: element ?? '', reason }, options);
      return baton.processInstances.cancel(id, { reason }, options);
    },
    onSuccess: () => {
      setSelected(undefined);
      setReason('');
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: ['processes'] }),
  });
  if (!mayOperate || !['running', 'suspended'].includes(instance.status)) return null;
  const choices: readonly (readonly [Act, string])[] = [
    ...(instance.status === 'running'
      ? ([['suspend', 'Suspend']] as const)
      : ([['resume', 'Resume']] as const)),
    ...(element === null ? [] : ([['skip', `Skip ${element}`]] as const)),
    ['cancel', 'Cancel process'],
  ];
  return (
    <div className="stack">
      <div className="row" role="group" aria-label="Process actions">
        {choices.map(([what, words]) => (
          <button
            key={what}
            type="button"
            disabled={act.isPending}
            aria-expanded={what === 'resume' ? undefined : selected === what}
            onClick={() => (what === 'resume' ? act.mutate('resume') : setSelected(what))}
          >
            {words}
          </button>
        ))}
      </div>
      {selected !== undefined && (
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            act.mutate(selected);
          }}
        >
          <label>
            <span className="visually-hidden">Reason</span>
            <input
              value={reason}
              onChange={({ target }) => setReason(target.value)}
              placeholder="Reason"
              maxLength={500}
              required
              autoFocus
            />
          </label>
          <button type="submit" className="primary" disabled={act.isPending}>
            {choices.find(([what]) => what === selected)?.[1]}
          </button>
          <button type="button" onClick={() => setSelected(undefined)}>
            Dismiss
          </button>
        </form>
      )}
      {act.isError && <ErrorNote error={act.error} />}
    </div>
  );
}
