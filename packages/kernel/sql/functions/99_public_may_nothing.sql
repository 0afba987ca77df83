-- A function is executable by everyone when it is made. Nobody but the owner may run these, except where deploy/roles.sql says so.
revoke all on all functions in schema l0 from public;
revoke all on schema l0, card, resource, state from public;
