import { baton } from '../../client.ts';
import { Line, List } from '../Section.tsx';

/** The public keys with which services verify access tokens. */
export function Keys() {
  return (
    <>
      <List
        name={['keys']}
        empty="No signing key is configured, so no access tokens can be issued."
        read={(_after, signal) => baton.identity.keys.list({ signal }).then(({ keys }) => ({ items: keys }))}
      >
        {({ kid, alg, kty }) => (
          <Line key={kid} title={<span className="mono">{kid}</span>} facts={[`${alg} · ${kty}`]} />
        )}
      </List>
      <p className="soft">
        The first key signs new tokens. The others are the next or previous key, or use another algorithm. To
        rotate keys without invalidating tokens, see “Rotate” in docs/operations.md.
      </p>
    </>
  );
}
