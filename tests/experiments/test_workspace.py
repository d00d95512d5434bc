"""Sharing neighbours and graphs between runs."""

from actup import embed, preset


def test_graphs_are_shared_and_maps_equal_those_of_embed(workspace):
    recipe = preset("gdr_umap").but(epochs=20)
    assert workspace.graph(recipe) is workspace.graph(recipe.but(a=1.0, b=1.0))
    assert workspace.graph(recipe) is not workspace.graph(recipe.but(n_neighbors=9))
    made = workspace.embed(recipe, 3)
    assert (made.embedding == embed(workspace.X, recipe, seed=3).embedding).all()
