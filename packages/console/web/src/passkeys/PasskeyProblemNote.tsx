import type { PasskeyProblem } from './webauthn.ts';

/** @param fragment of the link: the secret of an invitation, which the server never gets */
export function PasskeyProblemNote({
  problem,
  fragment = '',
}: {
  problem: PasskeyProblem;
  fragment?: string;
}) {
  return (
    <div className="stack">
      <p>{problem.message}</p>
      {problem.href !== undefined && (
        <p>
          <a href={problem.href + fragment}>Open this page at localhost</a>
        </p>
      )}
    </div>
  );
}
