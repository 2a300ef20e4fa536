import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ProcessInstance } from '@baton/sdk';
import { baton } from '../client.ts';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';

type Act = 'suspend' | 'resume' | 'skip' | 'cancel';

/** What an operator may do with an instance. Each but going on asks for the reason, which the journal keeps. */
export function Acts({ instance }: { instance: ProcessInstance }) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const mayOperate = useQuery(meQuery).data?.permissions.includes('processes.operate') ?? false;
  const [asked, setAsked] = useState<Act>();
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
      setAsked(undefined);
      setReason('');
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: ['processes'] }),
  });
  if (!mayOperate || !['running', 'suspended'].includes(instance.status)) return null;
  const choices: readonly (readonly [Act, string])[] = [
    ...(instance.status === 'running'
      ? ([['suspend', 'Suspend']] as const)
      : ([['resume', 'Go on']] as const)),
    ...(element === null ? [] : ([['skip', `Skip ${element}`]] as const)),
    ['cancel', 'Cancel it'],
  ];
  return (
    <div className="stack">
      <div className="row" role="group" aria-label="Operate the process">
        {choices.map(([what, words]) => (
          <button
            key={what}
            type="button"
            disabled={act.isPending}
            aria-expanded={what === 'resume' ? undefined : asked === what}
            onClick={() => (what === 'resume' ? act.mutate('resume') : setAsked(what))}
          >
            {words}
          </button>
        ))}
      </div>
      {asked !== undefined && (
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            act.mutate(asked);
          }}
        >
          <label>
            <span className="visually-hidden">Why</span>
            <input
              value={reason}
              onChange={({ target }) => setReason(target.value)}
              placeholder="Why"
              maxLength={500}
              required
              autoFocus
            />
          </label>
          <button type="submit" className="primary" disabled={act.isPending}>
            {choices.find(([what]) => what === asked)?.[1]}
          </button>
          <button type="button" onClick={() => setAsked(undefined)}>
            Leave it
          </button>
        </form>
      )}
      {act.isError && <ErrorNote error={act.error} />}
    </div>
  );
}
