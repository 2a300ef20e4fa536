import { useMutation, useQueryClient } from '@tanstack/react-query';
import { etagOf, type HeldClaim, type Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { tell } from '../parts/Notices.tsx';
import { Who } from '../parts/Who.tsx';
import { giveBack, type Loss } from './holds.ts';
import { sendAnswers } from './step-form/unsent.ts';
import { forgetLoss } from './use-holds.tsx';

const wordsCharactersMax = 10_000;

interface HoldProps {
  readonly task: Task;
  /** The lease of this person; undefined once it was lost. */
  readonly hold: HeldClaim | undefined;
  readonly loss: Loss | undefined;
  /** What came of it, as far as it is written. */
  readonly words: string;
  setWords(words: string): void;
}

/**
 * What whoever holds a task in the console does with it: finish it, with a word on what came of it, or give it back. When
 * the lease is lost, it says so in the same place, and what was written stays.
 */
export function Hold({ task, hold, loss, words, setWords }: HoldProps) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const body = words.trim();
  const settle = () => {
    for (const key of ['tasks', 'me']) void queries.invalidateQueries({ queryKey: [key] });
  };
  async function say() {
    if (body === '') return;
    await baton.tasks.createComment(task.id, { body }, { idempotencyKey: keys.of(body) });
  }
  const finish = useMutation({
    async mutationFn({ id: claimId, fencingToken }: HeldClaim) {
      await sendAnswers(task);
      // The lease keeps all others from changing it: the newest version is this person's own.
      const ifMatch = etagOf(await baton.tasks.get(task.id));
      const done = await baton.tasks.complete(task.id, { claimId, fencingToken }, { ifMatch });
      // Only the holder leaves these words as the result: they follow what proves that this person holds the task.
      await say().catch((error: unknown) => tell(<Unsaid words={body} error={error} />, { isBad: true }));
      return done;
    },
    onSuccess: ({ publicId, systemStatusCategory }) => {
      setWords('');
      tell(
        systemStatusCategory === 'terminal_success'
          ? `${publicId} is done.`
          : `${publicId} is finished; it counts as done when its checks have passed.`,
      );
    },
    onSettled: settle,
  });
  const back = useMutation({
    async mutationFn(held: HeldClaim) {
      await say();
      await giveBack(held);
    },
    onSuccess: () => {
      setWords('');
      tell(`${task.publicId} is given back.`);
    },
    onSettled: settle,
  });
  const comment = useMutation({
    mutationFn: say,
    onSuccess: () => {
      setWords('');
      forgetLoss(task.id);
      tell(`Your comment on ${task.publicId} is there.`);
    },
    onSettled: settle,
  });
  const isBusy = finish.isPending || back.isPending || comment.isPending;
  const failed = [finish, back, comment].find(({ isError }) => isError);
  return (
    <div className="stack">
      {loss !== undefined && <Lost loss={loss} hasWords={body !== ''} />}
      {(hold !== undefined || body !== '') && (
        <label className="stack">
          What came of it (optional)
          <textarea
            value={words}
            onChange={({ target }) => setWords(target.value)}
            maxLength={wordsCharactersMax}
          />
        </label>
      )}
      <div className="row">
        {hold !== undefined && (
          <>
            <button type="button" className="primary" disabled={isBusy} onClick={() => finish.mutate(hold)}>
              {finish.isPending ? 'Finishing …' : 'Finish'}
            </button>
            <button type="button" disabled={isBusy} onClick={() => back.mutate(hold)}>
              {back.isPending ? 'Giving back …' : 'Give back'}
            </button>
          </>
        )}
        {hold === undefined && body !== '' && (
          <button type="button" disabled={isBusy} onClick={() => comment.mutate()}>
            Leave it as a comment
          </button>
        )}
        {hold === undefined && (
          <button
            type="button"
            disabled={isBusy}
            onClick={() => {
              setWords('');
              forgetLoss(task.id);
            }}
          >
            {body === '' ? 'Close' : 'Throw it away'}
          </button>
        )}
      </div>
      {failed !== undefined && <ErrorNote error={failed.error} />}
    </div>
  );
}

/** The task is done; only its last comment was not taken. */
function Unsaid({ words, error }: { readonly words: string; readonly error: unknown }) {
  return (
    <>
      <p className="text">Your comment was not taken: {words}</p>
      <ErrorNote error={error} />
    </>
  );
}

function Lost({ loss: { by, reason }, hasWords }: { readonly loss: Loss; readonly hasWords: boolean }) {
  return (
    <div className="stack" role="alert">
      <p>
        <strong>You have lost this task.</strong>{' '}
        {by ? (
          <>
            <Who id={by} /> ended your lease
          </>
        ) : (
          'Your lease ended'
        )}
        {reason !== null && <span className="text"> ({reason})</span>}.
      </p>
      <p className="soft">
        Somebody else may work on it now. Nothing more is written in your name
        {hasWords && '; what you wrote is still here'}.
      </p>
    </div>
  );
}
