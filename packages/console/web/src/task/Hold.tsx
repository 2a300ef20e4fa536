import { useMutation, useQueryClient } from '@tanstack/react-query';
import { etagOf, type HeldClaim, type Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { MarkdownField } from '../markdown/MarkdownField.tsx';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { notify } from '../parts/Notices.tsx';
import { Who } from '../parts/Who.tsx';
import { type Loss, releaseTask } from './holds.ts';
import { sendAnswers } from './step-form/form-registry.ts';
import { forgetLoss } from './use-holds.tsx';

const resultCharactersMax = 10_000;

interface HoldProps {
  readonly task: Task;
  /** This person's claim; undefined once it is lost. */
  readonly hold: HeldClaim | undefined;
  readonly loss: Loss | undefined;
  /** The draft of the result. */
  readonly result: string;
  setResult(result: string): void;
}

/**
 * The actions of a task's holder: complete the task, with an optional result, or release it. If the claim is lost, a
 * message appears in the same place, and the draft stays.
 */
export function Hold({ task, hold, loss, result, setResult }: HoldProps) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const body = result.trim();
  const settle = () => {
    for (const key of ['tasks', 'me']) void queries.invalidateQueries({ queryKey: [key] });
  };
  async function commentResult() {
    if (body === '') return;
    await baton.tasks.createComment(task.id, { body }, { idempotencyKey: keys.of(body) });
  }
  const finish = useMutation({
    async mutationFn({ id: claimId, fencingToken }: HeldClaim) {
      await sendAnswers(task);
      // Only the holder can change a claimed task, so the newest version is this person's own.
      const ifMatch = etagOf(await baton.tasks.get(task.id));
      const done = await baton.tasks.complete(task.id, { claimId, fencingToken }, { ifMatch });
      // The comment follows the completion, which proves that this person holds the task.
      await commentResult().catch((error: unknown) =>
        notify(<CommentFailed text={body} error={error} />, { isBad: true }),
      );
      return done;
    },
    onSuccess: ({ publicId, systemStatusCategory }) => {
      setResult('');
      notify(
        systemStatusCategory === 'terminal_success'
          ? `Completed ${publicId}.`
          : `Submitted ${publicId}. It is done when its acceptance checks have passed.`,
      );
    },
    onSettled: settle,
  });
  const back = useMutation({
    async mutationFn(held: HeldClaim) {
      await commentResult();
      await releaseTask(held);
    },
    onSuccess: () => {
      setResult('');
      notify(`Released ${task.publicId}.`);
    },
    onSettled: settle,
  });
  const comment = useMutation({
    mutationFn: commentResult,
    onSuccess: () => {
      setResult('');
      forgetLoss(task.id);
      notify(`Commented on ${task.publicId}.`);
    },
    onSettled: settle,
  });
  const isBusy = finish.isPending || back.isPending || comment.isPending;
  const failed = [finish, back, comment].find(({ isError }) => isError);
  return (
    <div className="stack">
      {loss !== undefined && <Lost loss={loss} hasDraft={body !== ''} />}
      {(hold !== undefined || body !== '') && (
        <MarkdownField
          label="Result (optional)"
          value={result}
          onChange={setResult}
          maxLength={resultCharactersMax}
        />
      )}
      <div className="row">
        {hold !== undefined && (
          <>
            <button type="button" className="primary" disabled={isBusy} onClick={() => finish.mutate(hold)}>
              {finish.isPending ? 'Completing …' : 'Complete'}
            </button>
            <button type="button" disabled={isBusy} onClick={() => back.mutate(hold)}>
              {back.isPending ? 'Releasing …' : 'Release'}
            </button>
          </>
        )}
        {hold === undefined && body !== '' && (
          <button type="button" disabled={isBusy} onClick={() => comment.mutate()}>
            Post as comment
          </button>
        )}
        {hold === undefined && (
          <button
            type="button"
            disabled={isBusy}
            onClick={() => {
              setResult('');
              forgetLoss(task.id);
            }}
          >
            {body === '' ? 'Close' : 'Discard'}
          </button>
        )}
      </div>
      {failed !== undefined && <ErrorNote error={failed.error} />}
    </div>
  );
}

/** The task is completed, but its comment was rejected. */
function CommentFailed({ text, error }: { readonly text: string; readonly error: unknown }) {
  return (
    <>
      <p className="text">Your comment was not saved: {text}</p>
      <ErrorNote error={error} />
    </>
  );
}

function Lost({ loss: { by, reason }, hasDraft }: { readonly loss: Loss; readonly hasDraft: boolean }) {
  return (
    <div className="stack" role="alert">
      <p>
        <strong>You no longer hold this task.</strong>{' '}
        {by ? (
          <>
            <Who id={by} /> released your claim
          </>
        ) : (
          'Your claim ended'
        )}
        {reason !== null && <span className="text"> ({reason})</span>}.
      </p>
      <p className="soft">
        Somebody else may be working on it now. No further changes are made in your name
        {hasDraft && '; your draft is kept below'}.
      </p>
    </div>
  );
}
