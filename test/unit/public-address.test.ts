import { expect, it } from 'vitest';
import { publicAddressesFor } from '../../src/client/http/public-address.ts';

const addresses = await publicAddressesFor(new URL('https://media.example.com'));

it.each([
  ...[
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '192.0.0.1',
    '198.18.0.1',
    '198.19.255.255',
    '[::1]',
    '[::ffff:10.0.0.1]',
  ],
  ...[
    '[64:ff9b::a00:1]',
    '[64:ff9b:1::1]',
    '[2001:0:a00:1::1]',
    '[2002:a00:1::]',
    '[100::1]',
    '[fe80::1]',
    '[fd00::1]',
  ],
])('%s is refused as a private address', async (host) => {
  const error = await addresses.assertAllowed(new URL(`http://${host}/`), false).catch((thrown) => thrown);
  expect(error.explanation).toMatchObject({ code: 'private_address' });
});

it.each(['8.8.8.8', '192.0.1.1', '198.20.0.1', '[2606:4700::1]', '[2001:4860:4860::8888]'])(
  '%s is allowed as a public address',
  (host) => addresses.assertAllowed(new URL(`http://${host}/`), false),
);

it('a host name is resolved before a request goes to a proxy, and a local name is refused', async () => {
  const [local, throughProxy] = [new URL('http://localhost/'), true];
  await addresses.assertAllowed(local, false); // without a proxy, the connection resolves the name later
  const error = await addresses.assertAllowed(local, throughProxy).catch((thrown) => thrown);
  expect(error.explanation).toMatchObject({ code: 'private_address' });
});
