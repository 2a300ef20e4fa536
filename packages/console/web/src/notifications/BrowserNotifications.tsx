import { useMutation, useQuery } from '@tanstack/react-query';
import { ErrorNote } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import { turnOff, turnOn, useChoice } from './choice.ts';

/** Turns the notifications of this browser on and off. The browser requests its permission only after the click. */
export function BrowserNotifications() {
  const me = useQuery(meQuery);
  const personId = me.data?.principal.id;
  const choice = useChoice(personId);
  const start = useMutation({ mutationFn: turnOn });
  if (personId === undefined || me.data?.principal.kind !== 'human') return null;
  return (
    <section className="stack" aria-labelledby="notifications">
      <h2 id="notifications">Notifications in this browser</h2>
      <p className="soft">
        While the console is open in a hidden tab, your browser notifies you when your decision is requested,
        when somebody assigns a task to you or mentions you, and when your run receives a control message.
      </p>
      {choice === 'unavailable' && (
        <p>
          This browser can't show notifications of this address. They require https, or the machine's own
          address.
        </p>
      )}
      {choice === 'blocked' && (
        <p>Your browser blocks notifications of this page. Allow them in its settings for this page.</p>
      )}
      {choice === 'off' && (
        <div className="row">
          <button type="button" disabled={start.isPending} onClick={() => start.mutate(personId)}>
            Notify me in this browser
          </button>
        </div>
      )}
      {choice === 'on' && (
        <div className="row">
          <span>This browser notifies you.</span>
          <button
            type="button"
            onClick={() => {
              start.reset();
              turnOff();
            }}
          >
            Stop notifying me in this browser
          </button>
        </div>
      )}
      {choice === 'off' && start.data === false && (
        <p role="alert">Your browser didn't allow notifications, or can't show those of an open page.</p>
      )}
      {start.isError && <ErrorNote error={start.error} />}
    </section>
  );
}
