import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { revealHidden } from '@baton/sdk';
import { baton } from '../../client.ts';
import { Who } from '../../parts/Who.tsx';

/**
 * Who proved a check: the person who decided, the author of the artifact, or the executor of the skill.
 * @param evidence a reference such as `approval:0190b2c4-…`
 */
export function Prover({ evidence }: { readonly evidence: string }) {
  const [kind, id = ''] = evidence.split(':', 2);
  if (kind === 'approval') return <ByApproval id={id} />;
  if (kind === 'artifact') return <ByArtifact id={id} />;
  if (kind === 'invocation') return <ByInvocation id={id} />;
  return null;
}

function ByApproval({ id }: { readonly id: string }) {
  const { data } = useQuery({
    queryKey: ['approvals', 'one', id],
    queryFn: ({ signal }) => baton.approvals.get(id, { signal }),
  });
  return (
    <>
      {' · '}
      <Link to="/approvals/$id" params={{ id }}>
        decision
      </Link>
      {data?.decisionByPrincipalId != null && (
        <>
          {' '}
          by <Who id={data.decisionByPrincipalId} />
          {data.decisionComment && <span className="text">: {clipped(data.decisionComment)}</span>}
        </>
      )}
    </>
  );
}

const commentCharactersMax = 500;

/** The beginning of a comment, with a mark if it is longer. */
const clipped = (comment: string): string =>
  revealHidden(
    comment.length > commentCharactersMax ? `${comment.slice(0, commentCharactersMax)} …` : comment,
  );

function ByArtifact({ id }: { readonly id: string }) {
  const { data } = useQuery({
    queryKey: ['artifacts', id],
    queryFn: ({ signal }) => baton.artifacts.get(id, {}, { signal }),
  });
  if (data === undefined) return null;
  return (
    <>
      {' · '}
      {revealHidden(data.name)} by <Who id={data.createdByPrincipalId} />
    </>
  );
}

function ByInvocation({ id }: { readonly id: string }) {
  const { data } = useQuery({
    queryKey: ['skill-invocations', id],
    queryFn: ({ signal }) => baton.skillInvocations.get(id, { signal }),
  });
  if (data?.executorPrincipalId == null) return null;
  return (
    <>
      {' · '}by <Who id={data.executorPrincipalId} />
    </>
  );
}
