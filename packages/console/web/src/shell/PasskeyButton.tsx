import { useMutation } from '@tanstack/react-query';
import { ErrorNote } from '../parts/Notes.tsx';
import { PasskeyProblemNote } from '../passkeys/PasskeyProblemNote.tsx';
import { passkeyProblem, signInByPasskey } from '../passkeys/webauthn.ts';

/** Signs in with a passkey that the device offers. No name or e-mail is needed. */
export function PasskeyButton({ onSignedIn }: { onSignedIn: () => void }) {
  const problem = passkeyProblem();
  const signIn = useMutation({ mutationFn: signInByPasskey, onSuccess: onSignedIn });
  if (problem !== undefined) return <PasskeyProblemNote problem={problem} />;
  return (
    <>
      <button
        type="button"
        className="primary"
        disabled={signIn.isPending}
        autoFocus
        onClick={() => signIn.mutate()}
      >
        {signIn.isPending ? 'Waiting for your passkey …' : 'Sign in with a passkey'}
      </button>
      {signIn.isError && <ErrorNote error={signIn.error} />}
    </>
  );
}
