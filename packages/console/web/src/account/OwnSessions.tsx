import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type BrowserSession, post } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import table from '../parts/table.module.css';
import { withFreshSignIn } from '../passkeys/fresh-sign-in.ts';
import { SessionFacts } from '../passkeys/SessionFacts.tsx';
import styles from './account.module.css';

/** The browsers in which the person is signed in. Each other browser can be signed out, or all others at once. */
export function OwnSessions({
  sessions,
  currentId,
}: {
  sessions: readonly BrowserSession[];
  currentId: string;
}) {
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: (id: string | undefined) =>
      withFreshSignIn(() =>
        post<object>('sessions', id === undefined ? { act: 'end-others' } : { act: 'end', id }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ['account'] }),
  });
  return (
    <section className="stack" aria-labelledby="sessions">
      <h2 id="sessions">Browsers</h2>
      <ul className={table.lines}>
        {sessions.map((session) => (
          <li key={session.id} className={table.line}>
            <div className={table.main}>
              <p className={styles.title}>{session.id === currentId ? 'This browser' : 'Another browser'}</p>
              <SessionFacts session={session} />
            </div>
            {session.id !== currentId && (
              <div className="row">
                <button type="button" disabled={end.isPending} onClick={() => end.mutate(session.id)}>
                  Sign out
                </button>
              </div>
            )}
          </li>
        ))}
      </ul>
      {sessions.length > 1 && (
        <div className="row">
          <button type="button" disabled={end.isPending} onClick={() => end.mutate(undefined)}>
            Sign out all other browsers
          </button>
        </div>
      )}
      {end.isError && <ErrorNote error={end.error} />}
    </section>
  );
}
