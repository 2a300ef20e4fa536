import { AlertDialog } from '@base-ui/react/alert-dialog';
import { useMutation, useQuery } from '@tanstack/react-query';
import { readAccount, signInThrough } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import dialog from '../shell/shell.module.css';
import type { Question } from './fresh-sign-in.ts';
import { PasskeyProblemNote } from './PasskeyProblemNote.tsx';
import { confirmByPasskey, passkeyProblem } from './webauthn.ts';

/** The dialog of `withFreshSignIn`. The shell shows it above every page. */
export default function FreshSignIn({ question }: { question: Question }) {
  const confirm = useMutation({ mutationFn: confirmByPasskey, onSuccess: () => question.done(true) });
  const account = useQuery({ queryKey: ['account'], queryFn: readAccount });
  const provider = account.data?.signedInBy === 'session' ? account.data.provider : null;
  const leave = useMutation({
    mutationFn: (key: string) => signInThrough(key, location.pathname + location.search, { isFresh: true }),
  });
  const problem = passkeyProblem();
  const close = () => {
    confirm.reset();
    question.done(false);
  };
  return (
    <AlertDialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={dialog.overlay} />
        <AlertDialog.Popup className={dialog.dialog}>
          <AlertDialog.Title>Confirm that it's you</AlertDialog.Title>
          <AlertDialog.Description>
            This action requires a sign-in within the last five minutes. It continues after you have used your
            passkey.
            {provider !== null &&
              ` If you have none, sign in at ${provider} again: you return to this page and repeat the action.`}
          </AlertDialog.Description>
          {problem !== undefined && <PasskeyProblemNote problem={problem} />}
          {confirm.isError && <ErrorNote error={confirm.error} />}
          {leave.isError && <ErrorNote error={leave.error} />}
          <div className="row">
            <button
              type="button"
              className="primary"
              disabled={confirm.isPending || problem !== undefined}
              onClick={() => confirm.mutate()}
            >
              {confirm.isPending ? 'Waiting for your passkey …' : 'Use your passkey'}
            </button>
            {provider !== null && (
              <button type="button" disabled={leave.isPending} onClick={() => leave.mutate(provider)}>
                Sign in with {provider} again
              </button>
            )}
            <AlertDialog.Close>Cancel</AlertDialog.Close>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
