import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import type { ControlMessage, Run } from '@baton/sdk';
import { baton } from '../client.ts';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { notify } from '../parts/Notices.tsx';
import { meQuery } from '../queries.ts';
import { messageEffects, messageWords } from './messages.ts';
import styles from './run.module.css';
import { checkpointsQuery } from './run-queries.ts';

type Operation = ControlMessage['operation'];
const operations: readonly Operation[] = ['steer', 'redirect', 'request_cancel', 'force_cancel'];
const textCharactersMax: Readonly<Record<'directive' | 'reason', number>> = {
  directive: 10_000,
  reason: 2_000,
};

/** Buttons that send control messages to a running attempt. Hidden after its end and without the permission. */
export function Controls({ run }: { readonly run: Run }) {
  const me = useQuery(meQuery).data;
  const [operation, setOperation] = useState<Operation>();
  const may =
    me?.permissions.includes('claims.manage') ||
    (me?.permissions.includes('tasks.claim') && run.principalId === me.principal.id);
  if (run.status !== 'running' || !may) return null;
  return (
    <div className="stack">
      <div className="row" role="group" aria-label="Direct the agent">
        {operations.map((one) => (
          <button
            key={one}
            type="button"
            aria-expanded={one === operation}
            disabled={one === 'request_cancel' && run.cancelRequestedAt !== null}
            onClick={() => setOperation(one === operation ? undefined : one)}
          >
            {messageWords[one].button} …
          </button>
        ))}
      </div>
      {operation !== undefined && (
        <MessageForm
          key={operation}
          run={run}
          operation={operation}
          onClose={() => setOperation(undefined)}
        />
      )}
    </div>
  );
}

interface FormProps {
  readonly run: Run;
  readonly operation: Operation;
  onClose(): void;
}

/** The form for a message, with an explanation of its effect. */
function MessageForm({ run, operation, onClose }: FormProps) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const checkpoints = useQuery(checkpointsQuery(run.id)).data?.items;
  const field = operation === 'request_cancel' || operation === 'force_cancel' ? 'reason' : 'directive';
  const send = useMutation({
    async mutationFn(text: string) {
      const last = checkpoints?.at(-1);
      const body = {
        operation,
        // The last checkpoint that the sender saw, so that the agent can recognize an outdated message.
        causalPosition: last === undefined ? 'run:started' : `checkpoint:${last.seq}`,
        [field]: text,
        expectedRunVersion: run.version,
      };
      const options = { idempotencyKey: keys.of(body) };
      if (operation === 'request_cancel')
        await baton.runs.requestCancel(run.id, text === '' ? {} : { reason: text }, options);
      else await baton.runs.sendControlMessage(run.id, body, options);
    },
    onSuccess: () => {
      keys.taken();
      onClose();
      notify(operation === 'force_cancel' ? `Stopped attempt ${run.attempt}.` : 'Sent to the agent.');
    },
    onSettled: () => {
      for (const queryKey of [['runs', run.id], ['tasks']]) void queries.invalidateQueries({ queryKey });
    },
  });
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    send.mutate(String(new FormData(event.currentTarget).get('text')).trim());
  }
  return (
    <form className={`card stack ${styles.form}`} onSubmit={onSubmit}>
      <label className="stack">
        {field === 'reason'
          ? operation === 'force_cancel'
            ? 'Reason'
            : 'Reason (optional)'
          : 'Message to the agent'}
        <textarea
          name="text"
          maxLength={textCharactersMax[field]}
          required={operation !== 'request_cancel'}
          autoFocus
        />
      </label>
      <p className="soft">{messageEffects[operation]}</p>
      {send.isError && <ErrorNote error={send.error} />}
      <div className="row">
        <button type="submit" className="primary" disabled={send.isPending}>
          {send.isPending ? 'Sending …' : messageWords[operation].button}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  );
}
